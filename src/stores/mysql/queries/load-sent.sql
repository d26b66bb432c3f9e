SELECT target, number
FROM heddle_sent
WHERE source = ?1
ORDER BY target
