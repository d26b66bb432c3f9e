-- By the key, whatever the optimizer thinks of a small table: a walk would wait for rows of others.
DELETE heddle_history FROM heddle_history FORCE INDEX (PRIMARY) WHERE instance IN (?1)
