INSERT INTO instance (key, id, workflow, version, status, generation, wake_at, active, waiting_tasks,
  created_at, updated_at, quarantined, namespace, app, history)
SELECT *
FROM unnest(
  $1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::boolean[],
  $9::bigint[], $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::text[], $15::text[]
)
ON CONFLICT (key) DO UPDATE SET
  id = excluded.id, workflow = excluded.workflow, version = excluded.version, status = excluded.status,
  generation = excluded.generation, wake_at = excluded.wake_at, active = excluded.active,
  waiting_tasks = excluded.waiting_tasks, created_at = excluded.created_at, updated_at = excluded.updated_at,
  quarantined = excluded.quarantined, namespace = excluded.namespace, app = excluded.app, history = excluded.history
