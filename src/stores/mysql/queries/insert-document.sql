-- An existing document stays as it is.
INSERT INTO heddle_document (kind, name, revision, at, body)
VALUES (?1, ?2, ?3, ?4, ?5)
ON DUPLICATE KEY UPDATE kind = VALUES(kind)
