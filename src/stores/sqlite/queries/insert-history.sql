INSERT INTO history (instance, turn, first_event, at, events)
VALUES (?, ?, ?, ?, ?)
