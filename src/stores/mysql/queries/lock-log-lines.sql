-- A number is given out before its row can be seen. So only one appends at a time, until its transaction has ended: else
-- a reader who has seen a number would never hear of a lower one that comes after it.
INSERT INTO heddle_log_line_lock (id) VALUES (1) ON DUPLICATE KEY UPDATE id = VALUES(id)
