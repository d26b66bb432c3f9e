-- In the order of their numbers, whoever asks: two commits of several shards never wait for each other in a circle.
SELECT 1
FROM shard
WHERE shard = ANY ($1::bigint[])
ORDER BY shard
FOR UPDATE
