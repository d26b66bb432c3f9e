-- Numbers from $2 on belong to the new incarnation already.
UPDATE inbound_offset
SET number = number + $1::bigint
WHERE number < $2::bigint
