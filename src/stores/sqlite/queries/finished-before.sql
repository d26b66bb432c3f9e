SELECT key, id
FROM finished INDEXED BY finished_by_end
WHERE status = ? AND ended_at < ?
ORDER BY ended_at, key
LIMIT ?
