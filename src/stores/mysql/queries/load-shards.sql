SELECT shard, epoch, owner, last_batch AS lastBatch, released
FROM heddle_shard
ORDER BY shard
