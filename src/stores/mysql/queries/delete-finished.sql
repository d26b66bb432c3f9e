-- By the key, whatever the optimizer thinks of a small table: a walk would wait for rows of others.
DELETE heddle_finished FROM heddle_finished FORCE INDEX (PRIMARY) WHERE `key` IN (?1)
