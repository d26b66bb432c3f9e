SELECT instance, turn, first_event AS firstEvent, at, events
FROM heddle_history
WHERE instance IN (?1)
ORDER BY instance, turn
