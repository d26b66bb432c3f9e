-- A shard that was never claimed gets its row, one that was keeps it; either way the row is locked from here on.
INSERT INTO heddle_shard (shard, epoch, owner, last_batch, last_key, released)
VALUES (?1, 0, '', 0, 0, 1)
ON DUPLICATE KEY UPDATE shard = shard
