-- Small things that are not instances: each is changed as a whole, by whoever knows its last revision.
CREATE TABLE document (
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  revision INTEGER NOT NULL,
  at INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (kind, name)
) STRICT;

-- A number is never given out again: who reads on after the last one it saw misses nothing.
CREATE TABLE line (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  topic TEXT NOT NULL,
  at INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;

-- What was said under a topic, in order: an index ends with the row's number.
CREATE INDEX line_by_topic ON line (topic);
-- Retention.
CREATE INDEX line_by_time ON line (at);

-- The versions of a workflow in the order they were saved: an index ends with the number of the save.
CREATE INDEX definition_by_age ON definition (name);
