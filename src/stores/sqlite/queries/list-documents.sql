SELECT kind, name, revision, at, body
FROM document
WHERE kind = ?1 AND name >= coalesce(?2, '') AND (?2 IS NULL OR name <> ?2)
ORDER BY name
LIMIT ?3
