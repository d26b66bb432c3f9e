-- An instance that ended before a time was created before it, so the index scan goes up from the oldest and stops there.
SELECT key, id
FROM finished
WHERE status = $1 AND created_at < $2 AND ended_at < $2
ORDER BY created_at, key
LIMIT $3
