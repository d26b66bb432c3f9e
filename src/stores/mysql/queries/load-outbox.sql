SELECT source, target, number, body
FROM heddle_outbox
WHERE target IN (?1)
ORDER BY target, source, number
