SELECT name, version, spec, created_at AS createdAt
FROM heddle_definition FORCE INDEX (by_name)
WHERE name = ?1
ORDER BY save_number DESC
LIMIT 1
