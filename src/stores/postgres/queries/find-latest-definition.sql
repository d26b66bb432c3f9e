SELECT name, version, spec, created_at AS "createdAt"
FROM definition
WHERE name = $1
ORDER BY save_number DESC
LIMIT 1
