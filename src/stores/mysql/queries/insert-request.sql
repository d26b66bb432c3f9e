INSERT INTO heddle_request (shard, idempotency_key, at, refusal)
VALUES ?1
