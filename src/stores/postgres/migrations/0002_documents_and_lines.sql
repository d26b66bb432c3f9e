-- Small things that are not instances: each is changed as a whole, by whoever knows its last revision.
CREATE TABLE document (
  revision bigint NOT NULL,
  at bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL,
  PRIMARY KEY (kind, name)
);

-- A sequence gives no number twice. That they also become visible in their order is up to the statement that appends.
CREATE TABLE line (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  topic text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL
);

-- What was said under a topic, in order.
CREATE INDEX line_by_topic ON line (topic, number);
-- Retention.
CREATE INDEX line_by_time ON line (at);
