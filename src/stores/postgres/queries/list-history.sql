SELECT instance, turn, first_event AS "firstEvent", at, events
FROM history
WHERE instance = $1 AND turn > $2
ORDER BY turn
LIMIT $3
