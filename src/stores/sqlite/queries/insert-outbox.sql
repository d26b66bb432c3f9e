INSERT INTO outbox (source, target, number, body)
VALUES (?, ?, ?, ?)
