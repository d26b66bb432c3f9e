-- A number is assigned before its row is visible. So appends are serialized by a lock until the transaction ends: otherwise
-- a reader that has seen a number would miss a lower one that becomes visible later.
INSERT INTO heddle_log_line_lock (id) VALUES (1) ON DUPLICATE KEY UPDATE id = VALUES(id)
