INSERT INTO heddle_log_line (topic, at, body)
VALUES ?1
