INSERT INTO heddle_job (id, name, signature, parameters, code_path, source_hash, created_at, updated_at, missing)
VALUES ?1
ON DUPLICATE KEY UPDATE
  name = VALUES(name), signature = VALUES(signature), parameters = VALUES(parameters), code_path = VALUES(code_path),
  source_hash = VALUES(source_hash), created_at = VALUES(created_at), updated_at = VALUES(updated_at),
  missing = VALUES(missing)
