SELECT id, name, signature, parameters, code_path AS codePath, source_hash AS sourceHash,
  created_at AS createdAt, updated_at AS updatedAt, missing
FROM heddle_job
ORDER BY id
