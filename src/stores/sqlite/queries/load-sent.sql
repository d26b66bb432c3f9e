-- Messages that were read are gone, and the target's mark tells how far they went. The outbox has its key by target, so
-- it is asked target by target, each with one look at the end of the source's messages; walking it would read them all.
WITH RECURSIVE addressed (target) AS (
  SELECT min(target) FROM outbox
  UNION ALL
  SELECT (SELECT min(outbox.target) FROM outbox WHERE outbox.target > addressed.target)
  FROM addressed
  WHERE addressed.target IS NOT NULL
)
SELECT target, max(number) AS number
FROM (
  SELECT target, (SELECT max(number) FROM outbox WHERE outbox.target = addressed.target AND source = ?1) AS number
  FROM addressed
  UNION ALL
  SELECT shard AS target, number FROM mark WHERE source = ?1
)
WHERE number IS NOT NULL
GROUP BY target
ORDER BY target
