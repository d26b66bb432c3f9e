SELECT shard, epoch, batch
FROM shard
WHERE shard = ANY ($1::bigint[])
