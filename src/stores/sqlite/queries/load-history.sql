-- Looks in all places where turns may be: in rows of their own, and, as one text without a number, in the row of their
-- instance. One statement sees one moment, so turns that move are seen once. The store puts them in order.
SELECT instance, turn, first_event AS firstEvent, at, events
FROM history
WHERE instance IN (SELECT value FROM json_each(?1))
UNION ALL
SELECT key, NULL, NULL, NULL, history
FROM instance
WHERE key IN (SELECT value FROM json_each(?1)) AND history IS NOT NULL
UNION ALL
SELECT key, NULL, NULL, NULL, history
FROM finished
WHERE key IN (SELECT value FROM json_each(?1)) AND history IS NOT NULL
