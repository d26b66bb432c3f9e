INSERT INTO log_line (topic, at, body)
VALUES (?, ?, ?)
