SELECT id, address, about, heartbeat
FROM heddle_member
ORDER BY id
