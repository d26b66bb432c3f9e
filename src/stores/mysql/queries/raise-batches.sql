-- Raises the batch of every shard whose fence holds, through the primary key and so in the order of their numbers: two
-- commits of the same shards cannot deadlock. The rows are locked from here on. check-fences.sql, which comes next,
-- compares the number of changed rows.
UPDATE heddle_shard FORCE INDEX (PRIMARY)
SET last_batch = last_batch + 1, last_key = CASE shard ?1 END, released = CASE shard ?2 END
WHERE shard IN (?3) AND (?4)
