SELECT save_number AS "saveNumber", name, version, spec, created_at AS "createdAt"
FROM definition
WHERE name = $1 AND save_number < $2
ORDER BY save_number DESC
LIMIT $3
