-- Changes nothing while a live member other than the caller owns the shard and has not released it. The epoch follows the
-- clock, so that it is above all earlier ones even if a restored backup has forgotten some of them.
UPDATE heddle_shard
SET epoch = GREATEST(epoch + 1, UNIX_TIMESTAMP()), owner = ?2, released = 0
WHERE shard = ?1
  AND (owner = ?2 OR released = 1 OR NOT EXISTS (SELECT 1 FROM heddle_member WHERE heddle_member.id = heddle_shard.owner))
