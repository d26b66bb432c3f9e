-- Whether an id prefix is rare. Reads the index alone, and no further than the limit; of prefixes that are longer than
-- what the index has of an id, it counts too many.
SELECT COUNT(*) AS found
FROM (
  SELECT 1
  FROM heddle_finished FORCE INDEX (by_id)
  WHERE id_start >= LEFT(?1, 200) AND id_start <= LEFT(?2, 200)
  LIMIT ?3
) AS counted
