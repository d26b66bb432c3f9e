DELETE FROM document WHERE kind = ? AND name = ? AND revision = ?
