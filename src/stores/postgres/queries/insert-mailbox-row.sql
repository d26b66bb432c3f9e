INSERT INTO mailbox (name, body, at)
VALUES ($1, $2, $3)
