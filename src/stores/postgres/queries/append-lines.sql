-- A number is given out before its row can be seen. So only one appends at a time, until its transaction has ended: else
-- a reader who has seen a number would never hear of a lower one that comes after it. The rows are sorted, which takes
-- all of them, so none has its number before the lock is there.
WITH turn AS MATERIALIZED (SELECT pg_advisory_xact_lock('log_line'::regclass::oid::bigint))
INSERT INTO log_line (topic, at, body)
SELECT topic, at, body
FROM turn CROSS JOIN unnest($1::text[], $2::bigint[], $3::text[]) WITH ORDINALITY AS given (topic, at, body, place)
ORDER BY place
