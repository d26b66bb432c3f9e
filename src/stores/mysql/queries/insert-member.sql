INSERT INTO heddle_member (id, address, heartbeat)
VALUES (?1, ?2, 0)
ON DUPLICATE KEY UPDATE id = VALUES(id)
