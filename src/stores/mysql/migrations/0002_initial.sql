-- Tables have the prefix `heddle_`, because the database may have tables of other programs.
-- `{collation}` compares byte by byte without padding ('a' and 'a ' differ); its name depends on the server.
-- MySQL cannot roll back a CREATE, so every statement here must be repeatable after an interrupted migration.
-- Times are milliseconds since 1970-01-01 UTC. Columns `instance` hold `heddle_instance.key`, not its id.
--
-- Hot tables (instance, history, payload, outbox, sent, inbound_offset) have integer keys and no index beyond the key,
-- because every turn writes to them. Lists and searches use the indexes of `heddle_finished`, which gets its row once,
-- when an instance ends.
--
-- A key has at most 3072 bytes, and a character takes up to four. So columns in keys have a maximum length, counted with
-- the escapes of stores/text.ts, and longer values are refused: names of workflows 500 characters, versions 250, ids of
-- members and jobs, names of domains and idempotency keys 700, mailboxes 720, kinds of documents 60, their names 700,
-- topics 720. All other columns are unlimited.

-- One row per migration that has run.
CREATE TABLE IF NOT EXISTS heddle_schema_version (
  version BIGINT NOT NULL,
  PRIMARY KEY (version)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- Values of the whole database: `shard_count`, which is fixed once, and `incarnation`, which rises when a backup was restored.
CREATE TABLE IF NOT EXISTS heddle_setting (
  name VARCHAR(64) NOT NULL,
  value BIGINT NOT NULL,
  PRIMARY KEY (name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- A shard owns the instances whose ids hash to it, and has one writer at a time. The fencing token of a commit is
-- (epoch, last_batch + 1): a claim raises the epoch, at least to the clock in seconds, a commit raises the batch.
CREATE TABLE IF NOT EXISTS heddle_shard (
  shard BIGINT NOT NULL,
  epoch BIGINT NOT NULL,
  -- Member that claimed the shard last.
  owner VARCHAR(700) NOT NULL,
  -- Number of the last batch that was committed.
  last_batch BIGINT NOT NULL,
  -- Highest instance key that was assigned.
  last_key BIGINT NOT NULL,
  -- The owner released the shard with all starts of attempts on record; any member may then claim it.
  released BOOLEAN NOT NULL,
  PRIMARY KEY (shard)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- Live members. `heartbeat` counts up; other members remove a member whose heartbeat stops. `about` is what it reports of
-- itself, as JSON: its roles, and whether it is draining.
CREATE TABLE IF NOT EXISTS heddle_member (
  id VARCHAR(700) NOT NULL,
  address LONGTEXT NOT NULL,
  heartbeat BIGINT NOT NULL,
  about VARCHAR(1000) NOT NULL DEFAULT '',
  PRIMARY KEY (id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- Unfinished instances. `key` is `shard * 2^40 + counter`.
CREATE TABLE IF NOT EXISTS heddle_instance (
  `key` BIGINT NOT NULL,
  id LONGTEXT NOT NULL,
  workflow VARCHAR(500) NOT NULL,
  version VARCHAR(250) NOT NULL,
  status VARCHAR(20) NOT NULL,
  -- Counts up when an ended instance is reopened, or its id is used again.
  generation BIGINT NOT NULL,
  -- Time of the next timer; NULL for none.
  wake_at BIGINT,
  -- It has tasks with the dispatcher, or children: its actor must be in memory.
  active BOOLEAN NOT NULL,
  -- Number of tasks that wait for a retry or a resume, of an instance that need not be in memory.
  waiting_tasks BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  -- Reason of the quarantine; NULL for an instance in service.
  quarantined LONGTEXT,
  -- The namespace, which is also the prefix of the id; empty for `default`.
  namespace VARCHAR(200) NOT NULL,
  -- Application that it belongs to; NULL for none.
  app LONGTEXT,
  -- All turns, if the instance is active and they are few; see `history`.
  history LONGTEXT,
  PRIMARY KEY (`key`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- An id may be longer than a key, so `by_id` indexes its first 200 characters in a generated column. An index on a column
-- prefix would not do: it cannot give the newest of an id without reading all of them.
CREATE TABLE IF NOT EXISTS heddle_finished (
  `key` BIGINT NOT NULL,
  id LONGTEXT NOT NULL,
  workflow VARCHAR(500) NOT NULL,
  version VARCHAR(250) NOT NULL,
  status VARCHAR(20) NOT NULL,
  generation BIGINT NOT NULL,
  reason LONGTEXT,
  created_at BIGINT NOT NULL,
  ended_at BIGINT NOT NULL,
  tasks BIGINT NOT NULL,
  tasks_failed BIGINT NOT NULL,
  -- As in `instance`.
  namespace VARCHAR(200) NOT NULL,
  app LONGTEXT,
  -- All turns, if they are few; see `history`.
  history LONGTEXT,
  id_start VARCHAR(200) GENERATED ALWAYS AS (LEFT(id, 200)) STORED,
  PRIMARY KEY (`key`),
  -- Looks up the newest of an id, and lists by id prefix.
  INDEX by_id (id_start, `key`),
  -- Lists of one status, newest first; retention, oldest first.
  INDEX by_status (status, created_at, `key`),
  -- Lists of one workflow.
  INDEX by_workflow (workflow, status, created_at, `key`),
  -- Lists of one namespace.
  INDEX by_namespace (namespace, status, created_at, `key`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- Events of an instance, one row per turn. `first_event` is the number of the turn's first event. `events` is a
-- JSON array, which `kernel/event-text.ts` and docs/operations.md describe.
-- A history of up to 1000 characters is not here: it is one text in the row of its instance, while the instance is active
-- and after its end, as a JSON array of turns `[turn, first_event, at, length of events, events]`. An instance at rest has
-- it here, because opening a shard reads all rows of instances.
CREATE TABLE IF NOT EXISTS heddle_history (
  instance BIGINT NOT NULL,
  turn BIGINT NOT NULL,
  first_event BIGINT NOT NULL,
  at BIGINT NOT NULL,
  events LONGTEXT NOT NULL,
  PRIMARY KEY (instance, turn)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- Large values that events refer to by `ref`.
CREATE TABLE IF NOT EXISTS heddle_payload (
  instance BIGINT NOT NULL,
  ref BIGINT NOT NULL,
  body LONGTEXT NOT NULL,
  PRIMARY KEY (instance, ref)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- Messages between instances, from shard `source` to shard `target`, numbered per pair of shards. The target's commit
-- that raises its inbound offset deletes them.
CREATE TABLE IF NOT EXISTS heddle_outbox (
  target BIGINT NOT NULL,
  source BIGINT NOT NULL,
  number BIGINT NOT NULL,
  body LONGTEXT NOT NULL,
  PRIMARY KEY (target, source, number)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- Number of the last message that shard `source` ever sent to shard `target`, in a row of the sender: its numbers depend on
-- no row of a receiver.
CREATE TABLE IF NOT EXISTS heddle_sent (
  source BIGINT NOT NULL,
  target BIGINT NOT NULL,
  number BIGINT NOT NULL,
  PRIMARY KEY (source, target)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- Number of the last message from shard `source` that `shard` consumed.
CREATE TABLE IF NOT EXISTS heddle_inbound_offset (
  shard BIGINT NOT NULL,
  source BIGINT NOT NULL,
  number BIGINT NOT NULL,
  PRIMARY KEY (shard, source)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- Versions of workflows. `save_number` counts up over all workflows: the latest version does not depend on a clock.
CREATE TABLE IF NOT EXISTS heddle_definition (
  save_number BIGINT NOT NULL AUTO_INCREMENT,
  name VARCHAR(500) NOT NULL,
  version VARCHAR(250) NOT NULL,
  spec LONGTEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (save_number),
  UNIQUE INDEX by_name (name, version)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- Registered jobs. `missing` is true if the program that started last does not register the job.
CREATE TABLE IF NOT EXISTS heddle_job (
  id VARCHAR(700) NOT NULL,
  name LONGTEXT NOT NULL,
  signature LONGTEXT NOT NULL,
  parameters LONGTEXT NOT NULL,
  code_path LONGTEXT,
  source_hash LONGTEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  missing BOOLEAN NOT NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- Messages in mailboxes. An id is never assigned again, not even after a restart, so that a repeated delete is
-- safe.
CREATE TABLE IF NOT EXISTS heddle_mailbox (
  id BIGINT NOT NULL AUTO_INCREMENT,
  mailbox VARCHAR(720) NOT NULL,
  body LONGTEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (id),
  -- Messages of one mailbox in the order they were posted.
  INDEX by_mailbox (mailbox, id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- Requests that were handled, for deduplication by idempotency key. `refusal` is the error as JSON; NULL for success.
CREATE TABLE IF NOT EXISTS heddle_request (
  shard BIGINT NOT NULL,
  idempotency_key VARCHAR(700) NOT NULL,
  at BIGINT NOT NULL,
  refusal LONGTEXT,
  PRIMARY KEY (shard, idempotency_key),
  -- Expiry.
  INDEX by_time (shard, at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- Domains: named pools of slots that all members share.
CREATE TABLE IF NOT EXISTS heddle_domain (
  name VARCHAR(700) NOT NULL,
  size BIGINT NOT NULL,
  priority BIGINT NOT NULL,
  PRIMARY KEY (name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- Small values by kind and name, such as saved workflows and API tokens. A write replaces the whole body and must know
-- the revision it replaces (optimistic concurrency).
CREATE TABLE IF NOT EXISTS heddle_document (
  kind VARCHAR(60) NOT NULL,
  name VARCHAR(700) NOT NULL,
  revision BIGINT NOT NULL,
  at BIGINT NOT NULL,
  body LONGTEXT NOT NULL,
  PRIMARY KEY (kind, name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- Append-only logs by topic: task logs, the audit log. A number is never assigned again, not even after a restart.
CREATE TABLE IF NOT EXISTS heddle_log_line (
  number BIGINT NOT NULL AUTO_INCREMENT,
  topic VARCHAR(720) NOT NULL,
  at BIGINT NOT NULL,
  body LONGTEXT NOT NULL,
  PRIMARY KEY (number),
  -- Lines of one topic in order.
  INDEX by_topic (topic, number),
  -- Retention.
  INDEX by_time (at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- One row, whose lock serializes appends to `heddle_log_line` until they are visible.
CREATE TABLE IF NOT EXISTS heddle_log_line_lock (
  id BIGINT NOT NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};
