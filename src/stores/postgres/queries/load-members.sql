SELECT id, address, about, heartbeat AS beat
FROM member
ORDER BY id
