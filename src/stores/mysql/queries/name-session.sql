-- Takes the first of the locks that is free.
SET @heddle_named = CASE ?1 END
