SELECT instance, turn, first_event AS firstEvent, at, events
FROM history
WHERE instance IN (SELECT value FROM json_each(?))
ORDER BY instance, turn
