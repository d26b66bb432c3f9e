SELECT number, topic, at, body
FROM line
WHERE topic = $1 AND number > $2
ORDER BY number
LIMIT $3
