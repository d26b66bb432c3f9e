-- The oldest of them, from a time on, and no more than the limit. Gives how many, and the time of the last.
WITH old AS MATERIALIZED (
  SELECT number, at FROM log_line WHERE at >= $3 AND at < $2 AND starts_with(topic, $1) ORDER BY at LIMIT $4
), gone AS (
  DELETE FROM log_line WHERE number = ANY (ARRAY (SELECT number FROM old))
)
SELECT count(*) AS found, coalesce(max(at), $2) AS "lastAt" FROM old
