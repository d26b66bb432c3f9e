INSERT INTO mailbox (name, body, at)
VALUES (?, ?, ?)
