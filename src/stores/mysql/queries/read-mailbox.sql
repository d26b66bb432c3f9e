SELECT id, name AS box, body
FROM heddle_mailbox FORCE INDEX (by_name)
WHERE name IN (?1)
ORDER BY id
LIMIT ?2
