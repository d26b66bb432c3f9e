INSERT INTO heddle_member (id, address, beat)
VALUES (?1, ?2, 0)
ON DUPLICATE KEY UPDATE id = VALUES(id)
