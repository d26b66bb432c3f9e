INSERT INTO heddle_schema_version (version)
VALUES (?1)
ON DUPLICATE KEY UPDATE version = VALUES(version)
