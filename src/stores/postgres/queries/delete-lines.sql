-- Deletes the oldest lines with the topic prefix from a time on, up to the limit; returns how many, and the time of the
-- last.
WITH old AS MATERIALIZED (
  SELECT number, at FROM log_line WHERE at >= $3 AND at < $2 AND starts_with(topic, $1) ORDER BY at LIMIT $4
), gone AS (
  DELETE FROM log_line WHERE number = ANY (ARRAY (SELECT number FROM old))
)
SELECT count(*) AS found, coalesce(max(at), $2) AS "lastAt" FROM old
