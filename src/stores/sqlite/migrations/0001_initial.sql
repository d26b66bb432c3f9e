-- Hot tables (instance, history, task, payload, outbox, mark) have integer keys and no index beyond the key: every turn
-- writes to them. What lists and searches need is indexed once, when an instance ends, in `finished`.
-- History, task and payload rows lie in the order they were written, with the key beside them. Kept in the order of the
-- key (WITHOUT ROWID), a batch of turns of many long instances writes one page per turn: three times slower, measured.

CREATE TABLE shard (
  shard INTEGER PRIMARY KEY,
  epoch INTEGER NOT NULL,
  owner TEXT NOT NULL,
  batch INTEGER NOT NULL,
  last_key INTEGER NOT NULL,
  clean INTEGER NOT NULL
) STRICT;

CREATE TABLE instance (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  workflow TEXT NOT NULL,
  version TEXT NOT NULL,
  status TEXT NOT NULL,
  generation INTEGER NOT NULL,
  wake INTEGER,
  active INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  quarantined TEXT
) STRICT;

CREATE TABLE finished (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  workflow TEXT NOT NULL,
  version TEXT NOT NULL,
  status TEXT NOT NULL,
  generation INTEGER NOT NULL,
  reason TEXT,
  created_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  tasks INTEGER NOT NULL,
  tasks_failed INTEGER NOT NULL
) STRICT;

-- Finding one by its id, and by the beginning of its id.
CREATE INDEX finished_by_id ON finished (id);
-- Lists of one status, newest first: an index ends with the row's key.
CREATE INDEX finished_by_status ON finished (status);
-- Retention.
CREATE INDEX finished_by_end ON finished (status, ended_at);

CREATE TABLE history (
  instance INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  first_event INTEGER NOT NULL,
  at INTEGER NOT NULL,
  events TEXT NOT NULL,
  PRIMARY KEY (instance, turn)
) STRICT;

CREATE TABLE task (
  instance INTEGER NOT NULL,
  task INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  name TEXT NOT NULL,
  type INTEGER NOT NULL,
  status TEXT NOT NULL,
  worker TEXT,
  started_at INTEGER,
  ended_at INTEGER,
  retry_count INTEGER NOT NULL,
  error TEXT,
  PRIMARY KEY (instance, task, attempt)
) STRICT;

CREATE TABLE payload (
  instance INTEGER NOT NULL,
  ref INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (instance, ref)
) STRICT;

CREATE TABLE outbox (
  source INTEGER NOT NULL,
  target INTEGER NOT NULL,
  number INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (source, target, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE mark (
  shard INTEGER NOT NULL,
  source INTEGER NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (shard, source)
) STRICT, WITHOUT ROWID;

-- `saved` counts up, so that the one saved last under a name is known whatever the clock said.
CREATE TABLE definition (
  saved INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  version TEXT NOT NULL,
  spec TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (name, version)
) STRICT;

CREATE TABLE job (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  signature TEXT NOT NULL,
  parameters TEXT NOT NULL,
  code_path TEXT,
  source_hash TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  missing INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
