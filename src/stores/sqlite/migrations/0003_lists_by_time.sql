-- Lists are in the order of time, also across shards, whose keys tell nothing about time. An index ends with the row's key.
DROP INDEX finished_by_status;
DROP INDEX finished_by_end;
-- Lists, newest first, and retention, oldest first.
CREATE INDEX finished_by_status ON finished (status, created_at);
-- Lists of one workflow.
CREATE INDEX finished_by_workflow ON finished (workflow, status, created_at);
