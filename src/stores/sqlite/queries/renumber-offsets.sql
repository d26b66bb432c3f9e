-- Numbers from ?2 on belong to the new incarnation already.
UPDATE inbound_offset
SET number = number + ?1
WHERE number < ?2
