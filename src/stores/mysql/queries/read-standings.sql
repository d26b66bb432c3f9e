SELECT shard, epoch, last_batch AS batch
FROM heddle_shard
WHERE shard IN (?1)
