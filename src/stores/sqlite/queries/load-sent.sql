SELECT target, number
FROM sent
WHERE source = ?1
ORDER BY target
