-- A seal for every row of the other tables, and all of them together: see store/seals.py.
CREATE TABLE seals (
    place TEXT NOT NULL,  -- the table
    row INTEGER NOT NULL,
    seal INTEGER NOT NULL,
    PRIMARY KEY (place, row)
) STRICT, WITHOUT ROWID;

-- What the watermark beside the database is compared with: see store/watermark.py.
CREATE TABLE ledger (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    database TEXT NOT NULL,  -- drawn once for this database
    number INTEGER NOT NULL,  -- goes up with every write
    total INTEGER NOT NULL  -- every seal, one over the other (XOR)
) STRICT;
