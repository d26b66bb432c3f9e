SELECT save_number AS saveNumber, name, version, spec, created_at AS createdAt
FROM heddle_definition FORCE INDEX (by_name)
WHERE name = ?1 AND save_number < ?2
ORDER BY save_number DESC
LIMIT ?3
