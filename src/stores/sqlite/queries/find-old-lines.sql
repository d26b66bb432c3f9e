-- Reads no more lines than the limit, whatever their topics, because many may stay; `matches` tells which to delete.
SELECT number, at, substr(topic, 1, length(?1)) = ?1 AS matches
FROM log_line INDEXED BY log_line_by_time
WHERE at < ?2 AND at >= ?3 AND (at > ?3 OR number > ?4)
ORDER BY at, number
LIMIT ?5
