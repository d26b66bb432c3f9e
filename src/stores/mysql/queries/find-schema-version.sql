SELECT MAX(version) AS version FROM heddle_schema_version
