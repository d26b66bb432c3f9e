SELECT shard, epoch, owner, last_batch AS lastBatch, released
FROM shard
ORDER BY shard
