-- Writes in the order of the key, so that two members that write the same rows cannot deadlock.
INSERT INTO job (id, name, signature, parameters, code_path, source_hash, created_at, updated_at, missing)
SELECT *
FROM unnest(
  $1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::boolean[]
) AS given (id)
ORDER BY id
ON CONFLICT (id) DO UPDATE SET
  name = excluded.name, signature = excluded.signature, parameters = excluded.parameters,
  code_path = excluded.code_path, source_hash = excluded.source_hash, created_at = excluded.created_at,
  updated_at = excluded.updated_at, missing = excluded.missing
