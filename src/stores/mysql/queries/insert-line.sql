INSERT INTO heddle_line (topic, at, body)
VALUES ?1
