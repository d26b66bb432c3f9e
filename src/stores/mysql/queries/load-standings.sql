SELECT shard, epoch, last_batch AS lastBatch
FROM heddle_shard
WHERE shard IN (?1)
