INSERT INTO request (shard, key, at, refusal)
VALUES (?, ?, ?, ?)
