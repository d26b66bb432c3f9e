INSERT INTO member (id, address, beat)
VALUES (?, ?, 0)
ON CONFLICT (id) DO NOTHING
