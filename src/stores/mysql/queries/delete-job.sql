-- By the key, whatever the optimizer thinks of a small table: a walk would wait for rows of others.
DELETE heddle_job FROM heddle_job FORCE INDEX (PRIMARY) WHERE id IN (?1)
