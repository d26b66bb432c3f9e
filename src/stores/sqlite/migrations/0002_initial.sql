-- Times are milliseconds since 1970-01-01 UTC. Columns `instance` hold `instance.key`, not its id.
--
-- Hot tables (instance, history, payload, outbox, sent, inbound_offset) have integer keys and no index beyond the key,
-- because every turn writes to them. Lists and searches use the indexes of `finished`, which gets its row once, when an
-- instance ends.
-- History and payload are rowid tables: rows lie in the order of writing, with the key in an index beside them. In
-- the order of the key (WITHOUT ROWID), a batch of turns of many long instances writes one page per turn, which was
-- measured to be three times slower.

-- A shard owns the instances whose ids hash to it, and has one writer at a time. The fencing token of a commit is
-- (epoch, last_batch + 1): a claim raises the epoch, at least to the clock in seconds, a commit raises the batch.
CREATE TABLE shard (
  shard INTEGER PRIMARY KEY,
  epoch INTEGER NOT NULL,
  -- Member that claimed the shard last.
  owner TEXT NOT NULL,
  -- Number of the last batch that was committed.
  last_batch INTEGER NOT NULL,
  -- Highest instance key that was assigned.
  last_key INTEGER NOT NULL,
  -- 1 if the owner released the shard with all starts of attempts on record; any member may then claim it.
  released INTEGER NOT NULL
) STRICT;

-- Unfinished instances. `key` is `shard * 2^40 + counter`.
CREATE TABLE instance (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  workflow TEXT NOT NULL,
  version TEXT NOT NULL,
  status TEXT NOT NULL,
  -- Counts up when an ended instance is reopened, or its id is used again.
  generation INTEGER NOT NULL,
  -- Time of the next timer; NULL for none.
  wake_at INTEGER,
  -- 1 if it has tasks with the dispatcher, or children: its actor must be in memory.
  active INTEGER NOT NULL,
  -- Number of tasks that wait for a retry or a resume, of an instance that need not be in memory.
  waiting_tasks INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  -- Reason of the quarantine; NULL for an instance in service.
  quarantined TEXT,
  -- The namespace, which is also the prefix of the id; empty for `default`.
  namespace TEXT NOT NULL,
  -- Application that it belongs to; NULL for none.
  app TEXT,
  -- All turns, if the instance is active and they are few; see `history`.
  history TEXT
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
  tasks_failed INTEGER NOT NULL,
  -- As in `instance`.
  namespace TEXT NOT NULL,
  app TEXT,
  -- All turns, if they are few; see `history`.
  history TEXT
) STRICT;

-- Every index ends with the row's key.
-- Looks up an id, and lists by id prefix.
CREATE INDEX finished_by_id ON finished (id);
-- Lists of one status, newest first; retention, oldest first.
CREATE INDEX finished_by_status ON finished (status, created_at);
-- Lists of one workflow.
CREATE INDEX finished_by_workflow ON finished (workflow, status, created_at);
-- Lists of one namespace. The default one has no part in it and pays nothing for it; its lists use the others.
CREATE INDEX finished_by_namespace ON finished (namespace, status, created_at) WHERE namespace <> '';

-- Events of an instance, one row per turn. `first_event` is the number of the turn's first event. `events` is a
-- JSON array, which `kernel/event-text.ts` and docs/operations.md describe.
-- A history of up to 1000 characters is not here: it is one text in the row of its instance, while the instance is active
-- and after its end, as a JSON array of turns `[turn, first_event, at, length of events, events]`. An instance at rest has
-- it here, because opening a shard reads all rows of instances.
CREATE TABLE history (
  instance INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  first_event INTEGER NOT NULL,
  at INTEGER NOT NULL,
  events TEXT NOT NULL,
  PRIMARY KEY (instance, turn)
) STRICT;

-- Large values that events refer to by `ref`.
CREATE TABLE payload (
  instance INTEGER NOT NULL,
  ref INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (instance, ref)
) STRICT;

-- Messages between instances, from shard `source` to shard `target`, numbered per pair of shards. The target's commit
-- that raises its inbound offset deletes them.
CREATE TABLE outbox (
  target INTEGER NOT NULL,
  source INTEGER NOT NULL,
  number INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (target, source, number)
) STRICT, WITHOUT ROWID;

-- Number of the last message that shard `source` ever sent to shard `target`, in a row of the sender: its numbers depend on
-- no row of a receiver.
CREATE TABLE sent (
  source INTEGER NOT NULL,
  target INTEGER NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (source, target)
) STRICT, WITHOUT ROWID;

-- Number of the last message from shard `source` that `shard` consumed.
CREATE TABLE inbound_offset (
  shard INTEGER NOT NULL,
  source INTEGER NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (shard, source)
) STRICT, WITHOUT ROWID;

-- Versions of workflows. `save_number` counts up over all workflows: the latest version does not depend on a clock.
CREATE TABLE definition (
  save_number INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  version TEXT NOT NULL,
  spec TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (name, version)
) STRICT;

-- Versions of a workflow in the order they were saved: the index ends with `save_number`.
CREATE INDEX definition_by_save ON definition (name);

-- Registered jobs. `missing` is 1 if the program that started last does not register the job.
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

-- Live members; in an embedded store the only one is the process itself. `heartbeat` counts up; other members remove a
-- member whose heartbeat stops. `about` is what it reports of itself, as JSON: its roles, and whether it is draining.
CREATE TABLE member (
  id TEXT PRIMARY KEY,
  address TEXT NOT NULL,
  heartbeat INTEGER NOT NULL,
  about TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

-- Messages in mailboxes. An id is never assigned again, so that a repeated delete is safe.
CREATE TABLE mailbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  mailbox TEXT NOT NULL,
  body TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;

-- Messages of one mailbox in the order they were posted: the index ends with the row's id.
CREATE INDEX mailbox_by_mailbox ON mailbox (mailbox);

-- Requests that were handled, for deduplication by idempotency key. `refusal` is the error as JSON; NULL for success.
CREATE TABLE request (
  shard INTEGER NOT NULL,
  idempotency_key TEXT NOT NULL,
  at INTEGER NOT NULL,
  refusal TEXT,
  PRIMARY KEY (shard, idempotency_key)
) STRICT, WITHOUT ROWID;

-- Expiry.
CREATE INDEX request_by_time ON request (shard, at);

-- Domains: named pools of slots that all members share.
CREATE TABLE domain (
  name TEXT PRIMARY KEY,
  size INTEGER NOT NULL,
  priority INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Values of the whole database: `shard_count`, which is fixed once, and `incarnation`, which rises when a backup was restored.
CREATE TABLE setting (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Small values by kind and name, such as saved workflows and API tokens. A write replaces the whole body and must know
-- the revision it replaces (optimistic concurrency).
CREATE TABLE document (
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  revision INTEGER NOT NULL,
  at INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (kind, name)
) STRICT;

-- Append-only logs by topic: task logs, the audit log. A number is never assigned again, so that a reader that continues
-- after the last number it read misses nothing.
CREATE TABLE log_line (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  topic TEXT NOT NULL,
  at INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;

-- Lines of one topic in order: the index ends with the line's number.
CREATE INDEX log_line_by_topic ON log_line (topic);
-- Retention.
CREATE INDEX log_line_by_time ON log_line (at);
