-- Changes nothing while a live member other than the caller owns the shard and has not released it. The epoch follows the
-- clock, so that it is above all earlier ones even if a restored backup has forgotten some of them.
UPDATE shard
SET epoch = max(epoch + 1, clock_seconds()), owner = ?2, released = 0
WHERE shard = ?1 AND (owner = ?2 OR released = 1 OR owner NOT IN (SELECT id FROM member))
