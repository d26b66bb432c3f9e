-- Those that marks have passed, for the statement that deletes them: read without locks, which a DELETE of a range takes
-- also on the message that comes next. That one may be just being sent by a member that waits for one of ours.
SELECT JSON_ARRAYAGG(JSON_ARRAY(target, source, number)) INTO @heddle_passed
FROM heddle_outbox
WHERE ?1
