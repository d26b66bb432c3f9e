INSERT INTO heddle_history (instance, turn, first_event, at, events)
VALUES ?1
