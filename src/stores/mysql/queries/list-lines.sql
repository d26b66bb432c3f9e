SELECT number, topic, at, body
FROM heddle_log_line FORCE INDEX (by_topic)
WHERE topic = ?1 AND number > ?2 AND number < ?3
ORDER BY number
LIMIT ?4
