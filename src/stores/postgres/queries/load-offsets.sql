SELECT shard, source, number
FROM mark
WHERE shard = $1
ORDER BY source
