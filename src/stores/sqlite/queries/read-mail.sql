SELECT id, box, body
FROM mail
WHERE box = ?
ORDER BY id
LIMIT ?
