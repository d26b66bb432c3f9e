-- Terminates sessions of a member whose heartbeat is still that number. A user may always terminate its own sessions.
SELECT pg_terminate_backend(pid)
FROM pg_stat_activity
WHERE application_name = $1 AND datname = current_database() AND usename = current_user
  AND EXISTS (SELECT 1 FROM member WHERE id = $2 AND heartbeat = $3)
