-- The oldest of them, and no more than the limit.
DELETE FROM line
WHERE number IN (SELECT number FROM line INDEXED BY line_by_topic WHERE topic = ?1 ORDER BY number LIMIT ?2)
