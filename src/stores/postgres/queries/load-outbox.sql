SELECT source, target, number, body
FROM outbox
WHERE target = ANY ($1::bigint[])
ORDER BY target, source, number
