SELECT number, topic, at, body
FROM log_line INDEXED BY log_line_by_topic
WHERE topic = ? AND number > ? AND number < ?
ORDER BY number DESC
LIMIT ?
