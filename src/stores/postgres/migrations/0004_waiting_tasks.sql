-- What waits inside an instance that need not be in memory: tasks for their next attempt, for its resumption.
-- Instances from before count from their next turn on.
ALTER TABLE instance ADD COLUMN waiting bigint NOT NULL DEFAULT 0;
