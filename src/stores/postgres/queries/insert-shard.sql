-- A shard that nobody ever claimed: as if it had been released.
INSERT INTO shard (shard, epoch, owner, batch, last_key, clean)
VALUES ($1, 0, '', 0, 0, true)
ON CONFLICT (shard) DO NOTHING
