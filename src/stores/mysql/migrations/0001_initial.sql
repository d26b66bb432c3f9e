-- The database may have tables of others, hence the prefix of all names.
-- `{collation}` compares byte by byte and knows no padding: 'a' and 'a ' are two. Each server calls it otherwise.
-- A server cannot undo a CREATE, so each statement here may be run again after an opening that was broken off.
--
-- Hot tables (instance, history, task, payload, outbox, mark) have integer keys and no index beyond the key: every turn
-- writes to them. What lists and searches need is indexed once, when an instance ends, in `heddle_finished`.
--
-- A key takes 3072 bytes at most, and a character four. So what is in a key has a length, counted with the escapes of
-- stores/text.ts, and what is longer is refused: names of workflows 500 characters, versions 250, ids of members and
-- jobs, names of domains and keys of requests 700, mailboxes 720. Everything else may be as long as it likes.

-- A row for each migration that has run.
CREATE TABLE IF NOT EXISTS heddle_schema_version (
  version BIGINT NOT NULL,
  PRIMARY KEY (version)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- Numbers that are settled once for the whole database.
CREATE TABLE IF NOT EXISTS heddle_setting (
  name VARCHAR(64) NOT NULL,
  value BIGINT NOT NULL,
  PRIMARY KEY (name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

CREATE TABLE IF NOT EXISTS heddle_shard (
  shard BIGINT NOT NULL,
  epoch BIGINT NOT NULL,
  owner VARCHAR(700) NOT NULL,
  batch BIGINT NOT NULL,
  last_key BIGINT NOT NULL,
  clean BOOLEAN NOT NULL,
  PRIMARY KEY (shard)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- The living. `beat` counts up; a member whose beat stands still is taken for dead and goes.
CREATE TABLE IF NOT EXISTS heddle_member (
  id VARCHAR(700) NOT NULL,
  address LONGTEXT NOT NULL,
  beat BIGINT NOT NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

CREATE TABLE IF NOT EXISTS heddle_instance (
  `key` BIGINT NOT NULL,
  id LONGTEXT NOT NULL,
  workflow VARCHAR(500) NOT NULL,
  version VARCHAR(250) NOT NULL,
  status VARCHAR(20) NOT NULL,
  generation BIGINT NOT NULL,
  wake BIGINT,
  active BOOLEAN NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  quarantined LONGTEXT,
  PRIMARY KEY (`key`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- An id may be longer than a key, so `by_id` has its beginning, in a column of its own: an index of a column's prefix
-- would not give the newest of an id without reading all of them.
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
  id_start VARCHAR(200) GENERATED ALWAYS AS (LEFT(id, 200)) STORED,
  PRIMARY KEY (`key`),
  -- Finding the newest of an id, and all by the beginning of their id.
  INDEX by_id (id_start, `key`),
  -- Lists, newest first, and retention, oldest first.
  INDEX by_status (status, created_at, `key`),
  -- Lists of one workflow.
  INDEX by_workflow (workflow, status, created_at, `key`)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

CREATE TABLE IF NOT EXISTS heddle_history (
  instance BIGINT NOT NULL,
  turn BIGINT NOT NULL,
  first_event BIGINT NOT NULL,
  at BIGINT NOT NULL,
  events LONGTEXT NOT NULL,
  PRIMARY KEY (instance, turn)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

CREATE TABLE IF NOT EXISTS heddle_task (
  instance BIGINT NOT NULL,
  task BIGINT NOT NULL,
  attempt BIGINT NOT NULL,
  name LONGTEXT NOT NULL,
  type BIGINT NOT NULL,
  status VARCHAR(20) NOT NULL,
  worker LONGTEXT,
  started_at BIGINT,
  ended_at BIGINT,
  retry_count BIGINT NOT NULL,
  error LONGTEXT,
  PRIMARY KEY (instance, task, attempt)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

CREATE TABLE IF NOT EXISTS heddle_payload (
  instance BIGINT NOT NULL,
  ref BIGINT NOT NULL,
  body LONGTEXT NOT NULL,
  PRIMARY KEY (instance, ref)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- Messages are fetched by their target, and go when its mark passes them.
CREATE TABLE IF NOT EXISTS heddle_outbox (
  target BIGINT NOT NULL,
  source BIGINT NOT NULL,
  number BIGINT NOT NULL,
  body LONGTEXT NOT NULL,
  PRIMARY KEY (target, source, number)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

CREATE TABLE IF NOT EXISTS heddle_mark (
  shard BIGINT NOT NULL,
  source BIGINT NOT NULL,
  number BIGINT NOT NULL,
  PRIMARY KEY (shard, source)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- `saved` counts up, so that the one saved last under a name is known whatever the clock said.
CREATE TABLE IF NOT EXISTS heddle_definition (
  saved BIGINT NOT NULL AUTO_INCREMENT,
  name VARCHAR(500) NOT NULL,
  version VARCHAR(250) NOT NULL,
  spec LONGTEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (saved),
  UNIQUE INDEX by_name (name, version)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

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

-- An id is never given out again, also after a restart: deleting one that was read is safe also when it is said twice.
CREATE TABLE IF NOT EXISTS heddle_mail (
  id BIGINT NOT NULL AUTO_INCREMENT,
  box VARCHAR(720) NOT NULL,
  body LONGTEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (id),
  -- What lies in a box, in the order it was put there.
  INDEX by_box (box, id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

CREATE TABLE IF NOT EXISTS heddle_request (
  shard BIGINT NOT NULL,
  `key` VARCHAR(700) NOT NULL,
  at BIGINT NOT NULL,
  refusal LONGTEXT,
  PRIMARY KEY (shard, `key`),
  -- Forgetting.
  INDEX by_time (shard, at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

CREATE TABLE IF NOT EXISTS heddle_domain (
  name VARCHAR(700) NOT NULL,
  size BIGINT NOT NULL,
  priority BIGINT NOT NULL,
  PRIMARY KEY (name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};
