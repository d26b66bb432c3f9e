REPLACE INTO job (id, name, signature, parameters, code_path, source_hash, created_at, updated_at, missing)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
