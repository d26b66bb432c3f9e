-- Fails unless the statement before it changed the given number of rows, which stops the rest of the packet: the sum
-- overflows. A DO would be shorter, but MariaDB reports no error of it.
SET @heddle_held = 18446744073709551615 + (ROW_COUNT() <> ?1)
