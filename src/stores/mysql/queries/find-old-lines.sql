-- The oldest of them, from a time on, and no more than the limit.
SELECT number, at
FROM heddle_log_line FORCE INDEX (by_time)
WHERE at >= ?3 AND at < ?2 AND LEFT(topic, CHAR_LENGTH(?1)) = ?1
ORDER BY at
LIMIT ?4
