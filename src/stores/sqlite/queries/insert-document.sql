INSERT INTO document (kind, name, revision, at, body)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (kind, name) DO NOTHING
