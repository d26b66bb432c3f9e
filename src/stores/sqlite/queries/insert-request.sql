INSERT INTO request (shard, idempotency_key, at, refusal)
VALUES (?, ?, ?, ?)
