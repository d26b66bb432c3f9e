-- What waits inside an instance that need not be in memory: tasks for their next attempt, for its resumption.
-- Instances from before count from their next turn on.
-- Only MariaDB knows ADD COLUMN IF NOT EXISTS, and a migration that was broken off runs again.
SET @heddle_change = IF(
  EXISTS (
    SELECT 1 FROM information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = 'heddle_instance' AND column_name = 'waiting'
  ),
  'DO 0',
  'ALTER TABLE heddle_instance ADD COLUMN waiting BIGINT NOT NULL DEFAULT 0'
);
PREPARE heddle_change FROM @heddle_change;
EXECUTE heddle_change;
DEALLOCATE PREPARE heddle_change;
