-- Finds the messages up to the receiver's inbound offset, for delete-outbox.sql. A plain SELECT takes no locks; a DELETE of
-- a range also locks the message after it, which may just be written by a member that waits for a lock of ours.
SELECT JSON_ARRAYAGG(JSON_ARRAY(target, source, number)) INTO @heddle_passed
FROM heddle_outbox
WHERE ?1
