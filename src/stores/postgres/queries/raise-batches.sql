-- Raises the batch of every shard whose fence holds. Unless all of them hold, it divides by zero, which rolls back.
WITH moved AS (
  UPDATE shard
  SET last_batch = fence.number, last_key = fence.last_key, released = fence.released
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::boolean[])
    AS fence (shard, epoch, number, last_key, released)
  WHERE shard.shard = fence.shard AND shard.epoch = fence.epoch AND shard.last_batch = fence.number - 1
  RETURNING 1
)
SELECT 1 / (count(*) = cardinality($1::bigint[]))::int
FROM moved
