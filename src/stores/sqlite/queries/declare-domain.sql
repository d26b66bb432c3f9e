INSERT INTO domain (name, size, priority)
VALUES (?, ?, ?)
ON CONFLICT (name) DO NOTHING
