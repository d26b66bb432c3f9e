-- A claim raises the epoch at least to the clock, and a release leaves the shard released until the next claim.
SELECT shard, epoch, owner, last_batch AS lastBatch, released
FROM shard
WHERE owner = ?1 OR released = 1 OR epoch >= ?2
ORDER BY shard
