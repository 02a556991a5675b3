-- What was in force of each pool, the latest last; so that it can be looked at, and come back.
-- number: counts a pool's documents and is never used twice while the pool lives.
-- actor: who asked for it; '' where that is not known.
CREATE TABLE documents (
    pool TEXT NOT NULL REFERENCES pools (name) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    at TEXT,  -- NULL: before documents were kept
    actor TEXT NOT NULL DEFAULT '',
    document TEXT NOT NULL,
    PRIMARY KEY (pool, number)
) STRICT;

INSERT INTO documents (pool, number, document) SELECT name, 1, document FROM pools;

-- By whichever way a document is written. Twenty are kept.
CREATE TRIGGER documents_begin AFTER INSERT ON pools
BEGIN
    INSERT INTO documents (pool, number, at, document)
    VALUES (NEW.name, 1, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), NEW.document);
END;
CREATE TRIGGER documents_go_on AFTER UPDATE OF document ON pools
WHEN OLD.document <> NEW.document
BEGIN
    INSERT INTO documents (pool, number, at, document)
    SELECT NEW.name, coalesce(max(number), 0) + 1,
        strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), NEW.document
    FROM documents WHERE pool = NEW.name;
    DELETE FROM documents WHERE pool = NEW.name AND number <= (
        SELECT max(number) - 20 FROM documents WHERE pool = NEW.name
    );
END;
