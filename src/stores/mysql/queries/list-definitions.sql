SELECT saved AS number, name, version, spec, created_at AS createdAt
FROM heddle_definition FORCE INDEX (by_name)
WHERE name = ?1 AND saved < ?2
ORDER BY saved DESC
LIMIT ?3
