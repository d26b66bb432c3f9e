-- A shard that was never claimed gets its row, as if it had been released. The row is locked from here on.
INSERT INTO heddle_shard (shard, epoch, owner, last_batch, last_key, released)
VALUES (?1, 0, '', 0, 0, 1)
ON DUPLICATE KEY UPDATE shard = shard
