INSERT INTO heddle_mailbox (mailbox, body, at)
VALUES ?1
