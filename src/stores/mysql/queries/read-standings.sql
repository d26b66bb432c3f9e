SELECT shard, epoch, batch
FROM heddle_shard
WHERE shard IN (?1)
