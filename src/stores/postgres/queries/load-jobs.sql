SELECT id, name, signature, parameters, code_path AS "codePath", source_hash AS "sourceHash",
  created_at AS "createdAt", updated_at AS "updatedAt", missing
FROM job
ORDER BY id
