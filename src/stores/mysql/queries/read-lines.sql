SELECT number, topic, at, body
FROM heddle_line FORCE INDEX (by_topic)
WHERE topic = ?1 AND number > ?2
ORDER BY number
LIMIT ?3
