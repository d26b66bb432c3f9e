SELECT number
FROM heddle_log_line FORCE INDEX (by_topic)
WHERE topic = ?1
ORDER BY number
LIMIT ?2
