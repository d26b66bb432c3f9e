-- Messages that were consumed are deleted; the target's inbound offset has the number of the last one. The outbox is keyed
-- by target, so it is asked target by target, each by one lookup of the source's last message (a loose index scan): a
-- scan would read all messages.
WITH RECURSIVE addressed (target) AS (
  SELECT min(target) FROM outbox
  UNION ALL
  SELECT (SELECT min(outbox.target) FROM outbox WHERE outbox.target > addressed.target)
  FROM addressed
  WHERE addressed.target IS NOT NULL
)
SELECT target, max(number) AS number
FROM (
  SELECT target, (
    SELECT max(number) FROM outbox WHERE outbox.target = addressed.target AND source = $1
  ) AS number
  FROM addressed
  UNION ALL
  SELECT shard AS target, number FROM inbound_offset WHERE source = $1
) AS sent
WHERE number IS NOT NULL
GROUP BY target
ORDER BY target
