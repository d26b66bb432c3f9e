-- Runs in a schema of our own. Texts that are compared or ordered have the collation "C": byte by byte, on every server.
-- Hot tables (instance, history, task, payload, outbox, mark) have integer keys and no index beyond the key: every turn
-- writes to them. What lists and searches need is indexed once, when an instance ends, in `finished`.
--
-- A row that changes becomes a new row version, and the old one is in the way until it is cleared away. Where that
-- happens all the time the table is told so:
-- - fillfactor leaves room for the next version in the same page. Then the index is not touched, and the page is cleared
--   in passing by whoever reads it.
-- - autovacuum comes by a number of dead rows instead of a share of the table: the table is small, but wears fast.

CREATE TABLE schema_version (
  version bigint PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now()
);

-- Every commit changes a row for each shard it is of. Half of each page is room for that.
CREATE TABLE shard (
  shard bigint PRIMARY KEY,
  epoch bigint NOT NULL,
  batch bigint NOT NULL,
  last_key bigint NOT NULL,
  clean boolean NOT NULL,
  owner text COLLATE "C" NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Unfinished ones only: a row that comes and goes, and changes with each turn in between.
CREATE TABLE instance (
  key bigint PRIMARY KEY,
  generation bigint NOT NULL,
  wake bigint,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  active boolean NOT NULL,
  id text COLLATE "C" NOT NULL,
  workflow text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  quarantined text COLLATE "C"
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
  reason text COLLATE "C"
);

-- Finding the newest of an id, and all by the beginning of their id.
CREATE INDEX finished_by_id ON finished (id, key);
-- Lists, newest first, and retention, oldest first.
CREATE INDEX finished_by_status ON finished (status, created_at, key);
-- Lists of one workflow.
CREATE INDEX finished_by_workflow ON finished (workflow, status, created_at, key);

CREATE TABLE history (
  instance bigint NOT NULL,
  turn bigint NOT NULL,
  first_event bigint NOT NULL,
  at bigint NOT NULL,
  events text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance, turn)
);

-- An attempt's row is written when it begins and again when it ends.
CREATE TABLE task (
  instance bigint NOT NULL,
  task bigint NOT NULL,
  attempt bigint NOT NULL,
  type bigint NOT NULL,
  started_at bigint,
  ended_at bigint,
  retry_count bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  worker text COLLATE "C",
  error text COLLATE "C",
  PRIMARY KEY (instance, task, attempt)
) WITH (fillfactor = 90);

CREATE TABLE payload (
  instance bigint NOT NULL,
  ref bigint NOT NULL,
  body text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance, ref)
);

-- Messages are fetched by their target, and go when its mark passes them: a moment later, as a rule.
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

CREATE TABLE mark (
  shard bigint NOT NULL,
  source bigint NOT NULL,
  number bigint NOT NULL,
  PRIMARY KEY (shard, source)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- `saved` counts up, so that the one saved last under a name is known whatever the clock said.
CREATE SEQUENCE definition_saved;
CREATE TABLE definition (
  saved bigint NOT NULL,
  created_at bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  spec text COLLATE "C" NOT NULL,
  PRIMARY KEY (name, version)
);
CREATE INDEX definition_by_age ON definition (name, saved);

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

-- The living. `beat` counts up; a member whose beat stands still is taken for dead and goes. Few rows, which change
-- every other second.
CREATE TABLE member (
  id text COLLATE "C" PRIMARY KEY,
  beat bigint NOT NULL,
  address text COLLATE "C" NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- A sequence gives no id twice: deleting one that was read is safe also when it is said twice.
CREATE TABLE mail (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  box text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- What lies in a box, in the order it was put there.
CREATE INDEX mail_by_box ON mail (box, id);

CREATE TABLE request (
  shard bigint NOT NULL,
  at bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  refusal text COLLATE "C",
  PRIMARY KEY (shard, key)
);

-- Forgetting.
CREATE INDEX request_by_time ON request (shard, at);

CREATE TABLE domain (
  name text COLLATE "C" PRIMARY KEY,
  size bigint NOT NULL,
  priority bigint NOT NULL
);

-- Numbers that are settled once for the whole database.
CREATE TABLE setting (
  name text COLLATE "C" PRIMARY KEY,
  value bigint NOT NULL
);
