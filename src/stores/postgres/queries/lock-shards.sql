-- Locks the rows in the order of their numbers, so that two commits of several shards cannot deadlock.
SELECT 1
FROM shard
WHERE shard = ANY ($1::bigint[])
ORDER BY shard
FOR UPDATE
