INSERT INTO mail (box, body, at)
VALUES (?, ?, ?)
