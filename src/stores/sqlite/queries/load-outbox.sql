SELECT source, target, number, body
FROM outbox
WHERE target IN (SELECT value FROM json_each(?))
ORDER BY target, source, number
