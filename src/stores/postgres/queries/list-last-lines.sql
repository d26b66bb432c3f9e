SELECT number, topic, at, body
FROM log_line
WHERE topic = $1 AND number > $2 AND number < $3
ORDER BY number DESC
LIMIT $4
