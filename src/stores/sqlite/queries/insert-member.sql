INSERT INTO member (id, address, heartbeat)
VALUES (?, ?, 0)
ON CONFLICT (id) DO NOTHING
