INSERT INTO definition (name, version, spec, created_at)
VALUES (?, ?, ?, ?)
ON CONFLICT (name, version) DO NOTHING
