SELECT shard, epoch, last_batch AS "lastBatch"
FROM shard
WHERE shard = ANY ($1::bigint[])
