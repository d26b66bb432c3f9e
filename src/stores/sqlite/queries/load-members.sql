SELECT id, address, about, heartbeat
FROM member
ORDER BY id
