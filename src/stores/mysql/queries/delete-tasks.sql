-- By the key, whatever the optimizer thinks of a small table: a walk would wait for rows of others.
DELETE heddle_task FROM heddle_task FORCE INDEX (PRIMARY) WHERE instance IN (?1)
