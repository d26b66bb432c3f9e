SELECT name, version, spec, created_at AS createdAt
FROM definition
WHERE name = ?
ORDER BY save_number DESC
LIMIT 1
