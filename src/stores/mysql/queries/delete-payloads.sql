-- By the key, whatever the optimizer thinks of a small table: a walk would wait for rows of others.
DELETE heddle_payload FROM heddle_payload FORCE INDEX (PRIMARY) WHERE instance IN (?1)
