SELECT number, topic, at, body
FROM line INDEXED BY line_by_topic
WHERE topic = ? AND number > ? AND number < ?
ORDER BY number DESC
LIMIT ?
