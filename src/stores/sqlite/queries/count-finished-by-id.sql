-- Counts the ids of a prefix, to tell whether it is rare. Reads the index alone, up to the limit.
SELECT count(*) AS found
FROM (SELECT 1 FROM finished INDEXED BY finished_by_id WHERE id >= ?1 AND id < ?2 LIMIT ?3)
