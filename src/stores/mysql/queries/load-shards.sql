SELECT shard, epoch, owner, clean AS released
FROM heddle_shard
ORDER BY shard
