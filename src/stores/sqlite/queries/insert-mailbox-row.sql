INSERT INTO mailbox (mailbox, body, at)
VALUES (?, ?, ?)
