SELECT kind, name, revision, at, body
FROM heddle_document
WHERE kind = ?1 AND name = ?2
