SELECT instance, turn, first_event AS "firstEvent", at, events
FROM history
WHERE instance = ANY ($1::bigint[])
ORDER BY instance, turn
