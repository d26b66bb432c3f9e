SELECT id, address, about, heartbeat AS beat
FROM heddle_member
ORDER BY id
