-- `value` is a value of the path as JSON (controller/stored.py). What is looked up has a column.

CREATE TABLE platform (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    number INTEGER NOT NULL,  -- goes up with every write
    document TEXT NOT NULL
) STRICT;

-- AUTOINCREMENT: a pool that has the name of one that is gone must not have its number.
CREATE TABLE pools (
    born INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    is_leaving INTEGER NOT NULL DEFAULT 0,
    document TEXT NOT NULL
) STRICT;

-- Kept apart and narrow, since the loop reads all of it: what changed since the last pass.
CREATE TABLE changes (
    pool TEXT PRIMARY KEY REFERENCES pools (name) ON DELETE CASCADE,
    born INTEGER NOT NULL,
    number INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE records (
    pool TEXT PRIMARY KEY REFERENCES pools (name) ON DELETE CASCADE,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE statuses (
    pool TEXT PRIMARY KEY REFERENCES pools (name) ON DELETE CASCADE,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE plans (
    pool TEXT PRIMARY KEY REFERENCES pools (name) ON DELETE CASCADE,
    value TEXT NOT NULL
) STRICT;

-- The columns, not the JSON, say which generation was observed.
CREATE TABLE templates (
    pool TEXT PRIMARY KEY REFERENCES pools (name) ON DELETE CASCADE,
    generation INTEGER NOT NULL,
    observed_generation INTEGER NOT NULL,
    value TEXT NOT NULL
) STRICT;
CREATE INDEX templates_unobserved ON templates (pool) WHERE observed_generation < generation;

CREATE TABLE tokens (
    pool TEXT NOT NULL REFERENCES pools (name) ON DELETE CASCADE,
    id TEXT NOT NULL,
    token_hash TEXT NOT NULL,
    previous_hash TEXT,
    value TEXT NOT NULL,
    PRIMARY KEY (pool, id)
) STRICT;
CREATE INDEX tokens_by_hash ON tokens (token_hash);
CREATE INDEX tokens_by_previous_hash ON tokens (previous_hash) WHERE previous_hash IS NOT NULL;

CREATE TABLE user_data (
    pool TEXT NOT NULL REFERENCES pools (name) ON DELETE CASCADE,
    id TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (pool, id)
) STRICT;

-- What the next machines of a pool do wrong on request, in order.
CREATE TABLE queued_faults (
    number INTEGER PRIMARY KEY,
    pool TEXT NOT NULL REFERENCES pools (name) ON DELETE CASCADE,
    fault TEXT NOT NULL
) STRICT;

-- Machines and events outlive their pool: names are never used twice, and the story stays.
CREATE TABLE machines (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    pool TEXT NOT NULL,
    phase TEXT NOT NULL,
    gone_at TEXT,
    kind TEXT NOT NULL,
    fault TEXT NOT NULL,
    boots INTEGER NOT NULL DEFAULT 0,
    powered_at TEXT,
    value TEXT NOT NULL
) STRICT;
CREATE INDEX machines_living ON machines (pool) WHERE gone_at IS NULL;
-- What the driver looks at many times a second: machines that come, go, change or break.
CREATE INDEX machines_moving ON machines (number) WHERE gone_at IS NULL
    AND (phase <> 'ready' OR fault = 'break' OR json_extract(value, '$.heading_for') <> '');

-- Up to 64 KiB each, so apart from rows that are rewritten often.
CREATE TABLE reports (
    machine TEXT PRIMARY KEY REFERENCES machines (name),
    reported_at TEXT NOT NULL,
    report BLOB NOT NULL
) STRICT;

CREATE TABLE events (
    number INTEGER PRIMARY KEY,
    pool TEXT NOT NULL,
    key TEXT NOT NULL,
    at TEXT NOT NULL,
    machine TEXT NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (pool, key)
) STRICT;
CREATE INDEX events_by_machine ON events (machine) WHERE machine <> '';

-- Whatever is written about a pool counts in `changes`, by whichever way it was written.
CREATE TRIGGER pools_made AFTER INSERT ON pools
BEGIN INSERT INTO changes VALUES (NEW.name, NEW.born, 1); END;
CREATE TRIGGER pools_changed AFTER UPDATE ON pools
BEGIN UPDATE changes SET number = number + 1 WHERE pool = NEW.name; END;

CREATE TRIGGER records_made AFTER INSERT ON records
BEGIN UPDATE changes SET number = number + 1 WHERE pool = NEW.pool; END;
CREATE TRIGGER records_changed AFTER UPDATE ON records
BEGIN UPDATE changes SET number = number + 1 WHERE pool = NEW.pool; END;
CREATE TRIGGER records_deleted AFTER DELETE ON records
BEGIN UPDATE changes SET number = number + 1 WHERE pool = OLD.pool; END;

CREATE TRIGGER statuses_made AFTER INSERT ON statuses
BEGIN UPDATE changes SET number = number + 1 WHERE pool = NEW.pool; END;
CREATE TRIGGER statuses_changed AFTER UPDATE ON statuses
BEGIN UPDATE changes SET number = number + 1 WHERE pool = NEW.pool; END;
CREATE TRIGGER statuses_deleted AFTER DELETE ON statuses
BEGIN UPDATE changes SET number = number + 1 WHERE pool = OLD.pool; END;

CREATE TRIGGER plans_made AFTER INSERT ON plans
BEGIN UPDATE changes SET number = number + 1 WHERE pool = NEW.pool; END;
CREATE TRIGGER plans_changed AFTER UPDATE ON plans
BEGIN UPDATE changes SET number = number + 1 WHERE pool = NEW.pool; END;
CREATE TRIGGER plans_deleted AFTER DELETE ON plans
BEGIN UPDATE changes SET number = number + 1 WHERE pool = OLD.pool; END;

CREATE TRIGGER templates_made AFTER INSERT ON templates
BEGIN UPDATE changes SET number = number + 1 WHERE pool = NEW.pool; END;
CREATE TRIGGER templates_changed AFTER UPDATE ON templates
BEGIN UPDATE changes SET number = number + 1 WHERE pool = NEW.pool; END;
CREATE TRIGGER templates_deleted AFTER DELETE ON templates
BEGIN UPDATE changes SET number = number + 1 WHERE pool = OLD.pool; END;

CREATE TRIGGER tokens_made AFTER INSERT ON tokens
BEGIN UPDATE changes SET number = number + 1 WHERE pool = NEW.pool; END;
CREATE TRIGGER tokens_changed AFTER UPDATE ON tokens
BEGIN UPDATE changes SET number = number + 1 WHERE pool = NEW.pool; END;
CREATE TRIGGER tokens_deleted AFTER DELETE ON tokens
BEGIN UPDATE changes SET number = number + 1 WHERE pool = OLD.pool; END;

CREATE TRIGGER user_data_made AFTER INSERT ON user_data
BEGIN UPDATE changes SET number = number + 1 WHERE pool = NEW.pool; END;
CREATE TRIGGER user_data_changed AFTER UPDATE ON user_data
BEGIN UPDATE changes SET number = number + 1 WHERE pool = NEW.pool; END;
CREATE TRIGGER user_data_deleted AFTER DELETE ON user_data
BEGIN UPDATE changes SET number = number + 1 WHERE pool = OLD.pool; END;

CREATE TRIGGER queued_faults_made AFTER INSERT ON queued_faults
BEGIN UPDATE changes SET number = number + 1 WHERE pool = NEW.pool; END;
CREATE TRIGGER queued_faults_changed AFTER UPDATE ON queued_faults
BEGIN UPDATE changes SET number = number + 1 WHERE pool = NEW.pool; END;
CREATE TRIGGER queued_faults_deleted AFTER DELETE ON queued_faults
BEGIN UPDATE changes SET number = number + 1 WHERE pool = OLD.pool; END;

CREATE TRIGGER machines_made AFTER INSERT ON machines
BEGIN UPDATE changes SET number = number + 1 WHERE pool = NEW.pool; END;
CREATE TRIGGER machines_changed AFTER UPDATE ON machines
BEGIN UPDATE changes SET number = number + 1 WHERE pool = NEW.pool; END;

CREATE TRIGGER reports_made AFTER INSERT ON reports
BEGIN UPDATE changes SET number = number + 1
WHERE pool = (SELECT pool FROM machines WHERE name = NEW.machine); END;
CREATE TRIGGER reports_changed AFTER UPDATE ON reports
BEGIN UPDATE changes SET number = number + 1
WHERE pool = (SELECT pool FROM machines WHERE name = NEW.machine); END;
CREATE TRIGGER reports_deleted AFTER DELETE ON reports
BEGIN UPDATE changes SET number = number + 1
WHERE pool = (SELECT pool FROM machines WHERE name = OLD.machine); END;

CREATE TRIGGER events_made AFTER INSERT ON events
BEGIN UPDATE changes SET number = number + 1 WHERE pool = NEW.pool; END;
