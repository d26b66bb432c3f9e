-- Looks in all places where turns may be: in rows of their own, and, as one text without a number, in the row of their
-- instance. One statement sees one moment, so turns that move are seen once. The store puts them in order.
SELECT instance, turn, first_event AS "firstEvent", at, events
FROM history
WHERE instance = ANY ($1::bigint[])
UNION ALL
SELECT key, NULL, NULL, NULL, history
FROM instance
WHERE key = ANY ($1::bigint[]) AND history IS NOT NULL
UNION ALL
SELECT key, NULL, NULL, NULL, history
FROM finished
WHERE key = ANY ($1::bigint[]) AND history IS NOT NULL
