-- Finds the oldest lines with the topic prefix from a time on, up to the limit.
SELECT number, at
FROM heddle_log_line FORCE INDEX (by_time)
WHERE at >= ?3 AND at < ?2 AND LEFT(topic, CHAR_LENGTH(?1)) = ?1
ORDER BY at
LIMIT ?4
