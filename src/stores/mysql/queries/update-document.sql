UPDATE heddle_document SET revision = ?3, at = ?4, body = ?5
WHERE kind = ?1 AND name = ?2 AND revision = ?3 - 1
