-- By the key, whatever the optimizer thinks of a small table: a walk would wait for rows of others.
DELETE heddle_instance FROM heddle_instance FORCE INDEX (PRIMARY) WHERE `key` IN (?1)
