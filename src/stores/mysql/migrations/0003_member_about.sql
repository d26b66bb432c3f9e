-- What a member says about itself with its heartbeats, as JSON: its roles, and whether it is draining.
-- A migration may be run again after it was broken off, and MySQL has no ADD COLUMN IF NOT EXISTS.
SET @heddle_ddl = IF(
  (SELECT COUNT(*) FROM information_schema.columns
   WHERE table_schema = DATABASE() AND table_name = 'heddle_member' AND column_name = 'about') = 0,
  'ALTER TABLE heddle_member ADD COLUMN about VARCHAR(1000) NOT NULL DEFAULT ''''',
  'DO 0');
PREPARE heddle_ddl FROM @heddle_ddl;
EXECUTE heddle_ddl;
DEALLOCATE PREPARE heddle_ddl;
