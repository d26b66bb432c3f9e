-- Takes the first free lock of those with the member's name.
SET @heddle_named = CASE ?1 END
