SELECT shard, epoch, owner, clean AS released
FROM shard
ORDER BY shard
