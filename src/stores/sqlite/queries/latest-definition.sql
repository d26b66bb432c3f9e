SELECT name, version, spec, created_at AS createdAt
FROM definition
WHERE name = ?
ORDER BY saved DESC
LIMIT 1
