SELECT id, name AS box, body
FROM mailbox
WHERE name = ?
ORDER BY id
LIMIT ?
