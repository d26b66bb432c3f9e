-- Whether an id prefix is rare. Reads the index alone, and no further than the limit.
SELECT count(*) AS found
FROM (SELECT 1 FROM finished INDEXED BY finished_by_id WHERE id >= ?1 AND id < ?2 LIMIT ?3)
