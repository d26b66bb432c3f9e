-- Owners stay: an import that was interrupted has to be recognised as such.
UPDATE heddle_shard
SET epoch = GREATEST(epoch + 1, UNIX_TIMESTAMP())
