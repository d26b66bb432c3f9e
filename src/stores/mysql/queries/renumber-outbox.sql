-- Numbers from ?2 on belong to the new incarnation already.
UPDATE heddle_outbox
SET number = number + ?1
WHERE number < ?2
