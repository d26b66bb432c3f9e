-- Counts the ids of a prefix, to tell whether it is rare. Reads the index alone, up to the limit; a prefix that is longer
-- than the indexed part of an id counts too many.
SELECT COUNT(*) AS found
FROM (
  SELECT 1
  FROM heddle_finished FORCE INDEX (by_id)
  WHERE id_start >= LEFT(?1, 200) AND id_start <= LEFT(?2, 200)
  LIMIT ?3
) AS counted
