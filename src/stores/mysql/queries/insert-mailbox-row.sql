INSERT INTO heddle_mailbox (name, body, at)
VALUES ?1
