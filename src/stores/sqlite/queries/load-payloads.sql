SELECT ref, body
FROM payload
WHERE instance = ? AND ref IN (SELECT value FROM json_each(?))
