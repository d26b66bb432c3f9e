INSERT INTO heddle_setting (name, value)
VALUES (?1, ?2)
ON DUPLICATE KEY UPDATE name = VALUES(name)
