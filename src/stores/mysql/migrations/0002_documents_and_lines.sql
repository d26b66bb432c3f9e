-- What is in a key has a length here too: kinds of documents 60 characters, their names 700, topics 720.

-- Small things that are not instances: each is changed as a whole, by whoever knows its last revision.
CREATE TABLE IF NOT EXISTS heddle_document (
  kind VARCHAR(60) NOT NULL,
  name VARCHAR(700) NOT NULL,
  revision BIGINT NOT NULL,
  at BIGINT NOT NULL,
  body LONGTEXT NOT NULL,
  PRIMARY KEY (kind, name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- A number is never given out again, also after a restart.
CREATE TABLE IF NOT EXISTS heddle_line (
  number BIGINT NOT NULL AUTO_INCREMENT,
  topic VARCHAR(720) NOT NULL,
  at BIGINT NOT NULL,
  body LONGTEXT NOT NULL,
  PRIMARY KEY (number),
  -- What was said under a topic, in order.
  INDEX by_topic (topic, number),
  -- Retention.
  INDEX by_time (at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};

-- One row, which whoever appends lines holds until they can be seen.
CREATE TABLE IF NOT EXISTS heddle_line_turn (
  one BIGINT NOT NULL,
  PRIMARY KEY (one)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET = utf8mb4 COLLATE = {collation};
