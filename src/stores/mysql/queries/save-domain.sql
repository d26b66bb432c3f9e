INSERT INTO heddle_domain (name, size, priority)
VALUES ?1
ON DUPLICATE KEY UPDATE
  size = VALUES(size), priority = VALUES(priority)
