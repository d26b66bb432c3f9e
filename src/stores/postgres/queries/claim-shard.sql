-- Changes nothing while a live member other than the caller owns the shard and has not released it.
UPDATE shard
SET epoch = epoch + 1, owner = $2, released = false
WHERE shard = $1 AND (owner = $2 OR released OR NOT EXISTS (SELECT 1 FROM member WHERE member.id = shard.owner))
RETURNING epoch
