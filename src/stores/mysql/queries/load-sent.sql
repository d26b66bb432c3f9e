-- Messages that were consumed are deleted; the target's inbound offset has the number of the last one. The outbox is keyed
-- by target; the server goes from target to target by a loose index scan, with one lookup each.
SELECT target, MAX(number) AS number
FROM (
  SELECT target, MAX(number) AS number FROM heddle_outbox WHERE source = ?1 GROUP BY target
  UNION ALL
  SELECT shard AS target, number FROM heddle_inbound_offset WHERE source = ?1
) AS sent
GROUP BY target
ORDER BY target
