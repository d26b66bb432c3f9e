-- A shard that was never claimed gets its row, as if it had been released.
INSERT INTO shard (shard, epoch, owner, last_batch, last_key, released)
VALUES ($1, 0, '', 0, 0, true)
ON CONFLICT (shard) DO NOTHING
