-- Numbers from $2 on belong to the new incarnation already.
UPDATE outbox
SET number = number + $1::bigint
WHERE number < $2::bigint
