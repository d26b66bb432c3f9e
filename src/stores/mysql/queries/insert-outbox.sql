INSERT INTO heddle_outbox (source, target, number, body)
VALUES ?1
