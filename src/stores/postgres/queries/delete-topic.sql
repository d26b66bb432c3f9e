-- Deletes the oldest lines of the topic, up to the limit; returns how many.
WITH old AS MATERIALIZED (
  SELECT number FROM log_line WHERE topic = $1 ORDER BY number LIMIT $2
), gone AS (
  DELETE FROM log_line WHERE number = ANY (ARRAY (SELECT number FROM old))
)
SELECT count(*) AS found FROM old
