-- Stops what comes after it in the same packet, unless the statement before it changed so many rows: then the sum passes
-- the largest number there is, which is an error. A DO would be shorter, but MariaDB lets no error out of it.
SET @heddle_held = 18446744073709551615 + (ROW_COUNT() <> ?1)
