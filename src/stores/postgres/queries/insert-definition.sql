-- Numbers the rows in the order given, and writes them in the order of the key, so that two members that write the same
-- rows cannot deadlock.
INSERT INTO definition (save_number, name, version, spec, created_at)
SELECT save_number, name, version, spec, created_at
FROM (
  SELECT nextval('definition_save_number') AS save_number, name, version, spec, created_at
  FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) WITH ORDINALITY
    AS given (name, version, spec, created_at, place)
  ORDER BY place
) AS numbered
ORDER BY name, version
ON CONFLICT (name, version) DO NOTHING
