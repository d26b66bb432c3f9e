-- All shards of a batch at once, through the key and so in the order of their numbers: two that want the same shards do
-- not wait for each other in a circle. The row is locked from here on. Whoever reads the number of changed rows next
-- knows whether all fences held.
UPDATE heddle_shard FORCE INDEX (PRIMARY)
SET last_batch = last_batch + 1, last_key = CASE shard ?1 END, released = CASE shard ?2 END
WHERE shard IN (?3) AND (?4)
