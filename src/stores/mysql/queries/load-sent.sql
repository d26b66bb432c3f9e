-- Messages that were read are gone, and the target's mark tells how far they went. The outbox has its key by target; the
-- server goes from target to target, each with one look at the end of the source's messages.
SELECT target, MAX(number) AS number
FROM (
  SELECT target, MAX(number) AS number FROM heddle_outbox WHERE source = ?1 GROUP BY target
  UNION ALL
  SELECT shard AS target, number FROM heddle_mark WHERE source = ?1
) AS sent
GROUP BY target
ORDER BY target
