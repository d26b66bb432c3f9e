SELECT id, name AS box, body
FROM mailbox
WHERE name IN (SELECT value FROM json_each(?))
ORDER BY id
LIMIT ?
