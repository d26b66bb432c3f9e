INSERT INTO heddle_domain (name, size, priority)
VALUES ?1
ON DUPLICATE KEY UPDATE name = VALUES(name)
