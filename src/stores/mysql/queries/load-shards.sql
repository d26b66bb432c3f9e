SELECT shard, epoch, owner, released
FROM heddle_shard
ORDER BY shard
