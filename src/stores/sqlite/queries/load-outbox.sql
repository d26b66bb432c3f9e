SELECT source, target, number, body
FROM outbox
WHERE source = ?
ORDER BY target, number
