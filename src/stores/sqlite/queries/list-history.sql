SELECT instance, turn, first_event AS firstEvent, at, events
FROM history
WHERE instance = ? AND turn > ?
ORDER BY turn
LIMIT ?
