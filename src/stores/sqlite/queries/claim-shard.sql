-- Changes nothing while a living member other than the caller owns the shard and has not released it.
INSERT INTO shard (shard, epoch, owner, last_batch, last_key, released)
VALUES (?1, 1, ?2, 0, 0, 0)
ON CONFLICT (shard) DO UPDATE SET epoch = epoch + 1, owner = excluded.owner, released = 0
WHERE owner = excluded.owner OR released = 1 OR owner NOT IN (SELECT id FROM member)
