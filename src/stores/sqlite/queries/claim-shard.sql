-- Changes nothing while a live member other than the caller owns the shard and has not released it.
UPDATE shard
SET epoch = epoch + 1, owner = ?2, released = 0
WHERE shard = ?1 AND (owner = ?2 OR released = 1 OR owner NOT IN (SELECT id FROM member))
