INSERT INTO member (id, address, heartbeat)
VALUES ($1, $2, 0)
ON CONFLICT (id) DO NOTHING
