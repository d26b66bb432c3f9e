INSERT INTO finished (key, id, workflow, version, status, generation, reason, created_at, ended_at, tasks, tasks_failed,
  namespace, app, history)
SELECT *
FROM unnest(
  $1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[],
  $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::text[]
)
ON CONFLICT (key) DO UPDATE SET
  id = excluded.id, workflow = excluded.workflow, version = excluded.version, status = excluded.status,
  generation = excluded.generation, reason = excluded.reason, created_at = excluded.created_at,
  ended_at = excluded.ended_at, tasks = excluded.tasks, tasks_failed = excluded.tasks_failed,
  namespace = excluded.namespace, app = excluded.app, history = excluded.history
