INSERT INTO member (id, address, beat)
VALUES ($1, $2, 0)
ON CONFLICT (id) DO NOTHING
