SELECT shard, source, number
FROM mark
WHERE shard = ?
ORDER BY source
