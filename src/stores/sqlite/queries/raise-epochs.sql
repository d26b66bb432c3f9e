-- Owners stay: an import that was interrupted has to be recognised as such.
UPDATE shard
SET epoch = max(epoch + 1, clock_seconds())
