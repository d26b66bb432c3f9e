INSERT INTO line (topic, at, body)
VALUES (?, ?, ?)
