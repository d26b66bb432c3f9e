SELECT name, version, spec, created_at AS createdAt
FROM heddle_definition
WHERE name = ?1 AND version = ?2
