-- Owners stay: an import that was interrupted has to be recognised as such.
UPDATE shard
SET epoch = greatest(epoch + 1, floor(extract(epoch FROM clock_timestamp()))::bigint)
