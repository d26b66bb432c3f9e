INSERT INTO heddle_definition (name, version, spec, created_at)
VALUES ?1
ON DUPLICATE KEY UPDATE name = VALUES(name)
