SELECT shard, epoch, owner, released
FROM shard
ORDER BY shard
