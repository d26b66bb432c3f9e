SELECT kind, name, revision, at, body
FROM heddle_document FORCE INDEX (PRIMARY)
WHERE kind = ?1 AND name >= COALESCE(?2, '') AND (?2 IS NULL OR name <> ?2)
ORDER BY name
LIMIT ?3
