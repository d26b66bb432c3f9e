-- Deletes the oldest lines of the topic, up to the limit.
DELETE FROM log_line
WHERE number IN (SELECT number FROM log_line INDEXED BY log_line_by_topic WHERE topic = ?1 ORDER BY number LIMIT ?2)
