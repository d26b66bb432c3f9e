-- All tables are in a schema of their own. Text columns have the collation "C": they compare byte by byte on every server.
-- Times are milliseconds since 1970-01-01 UTC. Columns `instance` hold `instance.key`, not its id.
--
-- Hot tables (instance, history, payload, outbox, sent, inbound_offset) have integer keys and no index beyond the key,
-- because every turn writes to them. Lists and searches use the indexes of `finished`, which gets its row once, when an
-- instance ends.
--
-- An UPDATE writes a new row version and leaves a dead one. Tables with many updates are set up for it:
-- - fillfactor leaves room for the next version in the same page (HOT update). The index is then not touched, and the
--   page is pruned by the next statement that reads it.
-- - autovacuum starts at a number of dead rows instead of a share of the table, which is small but changes often.

CREATE TABLE schema_version (
  version bigint PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now()
);

-- A shard owns the instances whose ids hash to it, and has one writer at a time. The fencing token of a commit is
-- (epoch, last_batch + 1): a claim raises the epoch, at least to the clock in seconds, a commit raises the batch. Every commit updates one row per shard.
CREATE TABLE shard (
  shard bigint PRIMARY KEY,
  epoch bigint NOT NULL,
  -- Number of the last batch that was committed.
  last_batch bigint NOT NULL,
  -- Highest instance key that was assigned.
  last_key bigint NOT NULL,
  -- The owner released the shard with all starts of attempts on record; any member may then claim it.
  released boolean NOT NULL,
  -- Member that claimed the shard last.
  owner text COLLATE "C" NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Unfinished instances: rows are inserted and deleted, and updated by every turn in between. `key` is
-- `shard * 2^40 + counter`.
CREATE TABLE instance (
  key bigint PRIMARY KEY,
  -- Counts up when an ended instance is reopened, or its id is used again.
  generation bigint NOT NULL,
  -- Time of the next timer; NULL for none.
  wake_at bigint,
  -- Number of tasks that wait for a retry or a resume, of an instance that need not be in memory.
  waiting_tasks bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  -- It has tasks with the dispatcher, or children: its actor must be in memory.
  active boolean NOT NULL,
  id text COLLATE "C" NOT NULL,
  workflow text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  -- Reason of the quarantine; NULL for an instance in service.
  quarantined text COLLATE "C",
  -- The namespace, which is also the prefix of the id; empty for `default`.
  namespace text COLLATE "C" NOT NULL,
  -- Application that it belongs to; NULL for none.
  app text COLLATE "C",
  -- All turns, if the instance is active and they are few; see `history`.
  history text COLLATE "C"
) WITH (
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 10000,
  autovacuum_vacuum_cost_delay = 0
);

CREATE TABLE finished (
  key bigint PRIMARY KEY,
  generation bigint NOT NULL,
  created_at bigint NOT NULL,
  ended_at bigint NOT NULL,
  tasks bigint NOT NULL,
  tasks_failed bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  workflow text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  reason text COLLATE "C",
  -- As in `instance`.
  namespace text COLLATE "C" NOT NULL,
  app text COLLATE "C",
  -- All turns, if they are few; see `history`.
  history text COLLATE "C"
);

-- Looks up the newest of an id, and lists by id prefix.
CREATE INDEX finished_by_id ON finished (id, key);
-- Lists of one status, newest first; retention, oldest first.
CREATE INDEX finished_by_status ON finished (status, created_at, key);
-- Lists of one workflow.
CREATE INDEX finished_by_workflow ON finished (workflow, status, created_at, key);
-- Lists of one namespace. The default one has no part in it and pays nothing for it; its lists use the others.
CREATE INDEX finished_by_namespace ON finished (namespace, status, created_at, key) WHERE namespace <> '';

-- Events of an instance, one row per turn. `first_event` is the number of the turn's first event. `events` is a
-- JSON array, which `kernel/event-text.ts` and docs/operations.md describe.
-- A history of up to 1000 characters is not here: it is one text in the row of its instance, while the instance is active
-- and after its end, as a JSON array of turns `[turn, first_event, at, length of events, events]`. An instance at rest has
-- it here, because opening a shard reads all rows of instances.
CREATE TABLE history (
  instance bigint NOT NULL,
  turn bigint NOT NULL,
  first_event bigint NOT NULL,
  at bigint NOT NULL,
  events text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance, turn)
);

-- Large values that events refer to by `ref`.
CREATE TABLE payload (
  instance bigint NOT NULL,
  ref bigint NOT NULL,
  body text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance, ref)
);

-- Messages between instances, from shard `source` to shard `target`, numbered per pair of shards. The target's commit
-- that raises its inbound offset deletes them, as a rule a moment after they were written.
CREATE TABLE outbox (
  target bigint NOT NULL,
  source bigint NOT NULL,
  number bigint NOT NULL,
  body text COLLATE "C" NOT NULL,
  PRIMARY KEY (target, source, number)
) WITH (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0
);

-- Number of the last message that shard `source` ever sent to shard `target`, in a row of the sender: its numbers depend on
-- no row of a receiver.
CREATE TABLE sent (
  source bigint NOT NULL,
  target bigint NOT NULL,
  number bigint NOT NULL,
  PRIMARY KEY (source, target)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- Number of the last message from shard `source` that `shard` consumed.
CREATE TABLE inbound_offset (
  shard bigint NOT NULL,
  source bigint NOT NULL,
  number bigint NOT NULL,
  PRIMARY KEY (shard, source)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- Versions of workflows. `save_number` counts up over all workflows: the latest version does not depend on a clock.
CREATE SEQUENCE definition_save_number;
CREATE TABLE definition (
  save_number bigint NOT NULL,
  created_at bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  spec text COLLATE "C" NOT NULL,
  PRIMARY KEY (name, version)
);

-- Versions of a workflow in the order they were saved.
CREATE INDEX definition_by_save ON definition (name, save_number);

-- Registered jobs. `missing` is true if the program that started last does not register the job.
CREATE TABLE job (
  id text COLLATE "C" PRIMARY KEY,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  missing boolean NOT NULL,
  name text COLLATE "C" NOT NULL,
  signature text COLLATE "C" NOT NULL,
  parameters text COLLATE "C" NOT NULL,
  code_path text COLLATE "C",
  source_hash text COLLATE "C" NOT NULL
);

-- Live members. `heartbeat` counts up every other second; other members remove a member whose heartbeat stops. `about`
-- is what it reports of itself, as JSON: its roles, and whether it is draining.
CREATE TABLE member (
  id text COLLATE "C" PRIMARY KEY,
  heartbeat bigint NOT NULL,
  address text COLLATE "C" NOT NULL,
  about text COLLATE "C" NOT NULL DEFAULT ''
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Messages in mailboxes. A sequence assigns no id twice, so that a repeated delete is safe.
CREATE TABLE mailbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  mailbox text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- Messages of one mailbox in the order they were posted.
CREATE INDEX mailbox_by_mailbox ON mailbox (mailbox, id);

-- Requests that were handled, for deduplication by idempotency key. `refusal` is the error as JSON; NULL for success.
CREATE TABLE request (
  shard bigint NOT NULL,
  at bigint NOT NULL,
  idempotency_key text COLLATE "C" NOT NULL,
  refusal text COLLATE "C",
  PRIMARY KEY (shard, idempotency_key)
);

-- Expiry.
CREATE INDEX request_by_time ON request (shard, at);

-- Domains: named pools of slots that all members share.
CREATE TABLE domain (
  name text COLLATE "C" PRIMARY KEY,
  size bigint NOT NULL,
  priority bigint NOT NULL
);

-- Values of the whole database: `shard_count`, which is fixed once, and `incarnation`, which rises when a backup was restored.
CREATE TABLE setting (
  name text COLLATE "C" PRIMARY KEY,
  value bigint NOT NULL
);

-- Small values by kind and name, such as saved workflows and API tokens. A write replaces the whole body and must know
-- the revision it replaces (optimistic concurrency).
CREATE TABLE document (
  revision bigint NOT NULL,
  at bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL,
  PRIMARY KEY (kind, name)
);

-- Append-only logs by topic: task logs, the audit log. A sequence assigns no number twice; queries/append-lines.sql makes
-- sure that numbers also become visible in their order.
CREATE TABLE log_line (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  topic text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL
);

-- Lines of one topic in order.
CREATE INDEX log_line_by_topic ON log_line (topic, number);
-- Retention.
CREATE INDEX log_line_by_time ON log_line (at);
