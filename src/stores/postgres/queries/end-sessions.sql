-- Of a member that has not moved on from that beat. Sessions of one's own user may always be ended.
SELECT pg_terminate_backend(pid)
FROM pg_stat_activity
WHERE application_name = $1 AND datname = current_database() AND usename = current_user
  AND EXISTS (SELECT 1 FROM member WHERE id = $2 AND heartbeat = $3)
