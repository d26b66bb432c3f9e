SELECT shard, source, number
FROM heddle_mark
WHERE shard = ?1
ORDER BY source
