-- Changes nothing while a live member other than the caller owns the shard and has not released it. The epoch follows the
-- clock, so that it is above all earlier ones even if a restored backup has forgotten some of them.
UPDATE shard
SET epoch = greatest(epoch + 1, floor(extract(epoch FROM clock_timestamp()))::bigint), owner = $2, released = false
WHERE shard = $1 AND (owner = $2 OR released OR NOT EXISTS (SELECT 1 FROM member WHERE member.id = shard.owner))
RETURNING epoch
