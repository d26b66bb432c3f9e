-- Several members, and what they share. In an embedded store the only member is the process itself.

-- The living. `beat` counts up; a member whose beat stands still is taken for dead and goes.
CREATE TABLE member (
  id TEXT PRIMARY KEY,
  address TEXT NOT NULL,
  beat INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- An id is never given out again: deleting one that was read is safe also when it is said twice.
CREATE TABLE mail (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  box TEXT NOT NULL,
  body TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;

-- What lies in a box, in the order it was put there: an index ends with the row's id.
CREATE INDEX mail_by_box ON mail (box);

CREATE TABLE request (
  shard INTEGER NOT NULL,
  key TEXT NOT NULL,
  at INTEGER NOT NULL,
  refusal TEXT,
  PRIMARY KEY (shard, key)
) STRICT, WITHOUT ROWID;

-- Forgetting.
CREATE INDEX request_by_time ON request (shard, at);

CREATE TABLE domain (
  name TEXT PRIMARY KEY,
  size INTEGER NOT NULL,
  priority INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Numbers that are settled once for the whole database.
CREATE TABLE setting (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- An id finds its shard by the number of shards, so a database that has instances keeps the number it was written with.
-- Until now every shard was claimed at each opening.
INSERT INTO setting (name, value)
SELECT 'shard_count', max(shard) + 1 FROM shard HAVING count(*) > 0;

-- Messages are fetched by their target now, and go when its mark passes them. What had been read and only waited for the
-- source to delete it is left behind.
CREATE TABLE outbox_by_target (
  target INTEGER NOT NULL,
  source INTEGER NOT NULL,
  number INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (target, source, number)
) STRICT, WITHOUT ROWID;

INSERT INTO outbox_by_target (target, source, number, body)
SELECT outbox.target, outbox.source, outbox.number, outbox.body
FROM outbox LEFT JOIN mark ON mark.shard = outbox.target AND mark.source = outbox.source
WHERE mark.number IS NULL OR outbox.number > mark.number;

DROP TABLE outbox;
ALTER TABLE outbox_by_target RENAME TO outbox;
