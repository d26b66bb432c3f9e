INSERT INTO task (instance, task, attempt, name, type, status, worker, started_at, ended_at, retry_count, error)
SELECT *
FROM unnest(
  $1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::text[],
  $8::bigint[], $9::bigint[], $10::bigint[], $11::text[]
)
ON CONFLICT (instance, task, attempt) DO UPDATE SET
  name = excluded.name, type = excluded.type, status = excluded.status, worker = excluded.worker,
  started_at = excluded.started_at, ended_at = excluded.ended_at, retry_count = excluded.retry_count,
  error = excluded.error
