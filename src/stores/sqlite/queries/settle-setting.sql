INSERT INTO setting (name, value)
VALUES (?, ?)
ON CONFLICT (name) DO NOTHING
