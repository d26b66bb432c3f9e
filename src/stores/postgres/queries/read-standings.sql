SELECT shard, epoch, last_batch AS batch
FROM shard
WHERE shard = ANY ($1::bigint[])
