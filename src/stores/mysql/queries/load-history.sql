-- Looks in all places where turns may be: in rows of their own, and, as one text without a number, in the row of their
-- instance. One statement sees one moment, so turns that move are seen once. The store puts them in order.
SELECT instance, turn, first_event AS firstEvent, at, events
FROM heddle_history
WHERE instance IN (?1)
UNION ALL
SELECT `key`, NULL, NULL, NULL, history
FROM heddle_instance FORCE INDEX (PRIMARY)
WHERE `key` IN (?1) AND history IS NOT NULL
UNION ALL
SELECT `key`, NULL, NULL, NULL, history
FROM heddle_finished FORCE INDEX (PRIMARY)
WHERE `key` IN (?1) AND history IS NOT NULL
