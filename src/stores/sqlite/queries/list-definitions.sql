SELECT save_number AS saveNumber, name, version, spec, created_at AS createdAt
FROM definition INDEXED BY definition_by_save
WHERE name = ? AND save_number < ?
ORDER BY save_number DESC
LIMIT ?
