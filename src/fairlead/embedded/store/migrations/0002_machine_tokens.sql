-- One row for each machine that has had power: the token of its last boot, as a hash.
CREATE TABLE machine_tokens (
    machine TEXT PRIMARY KEY REFERENCES machines (name),
    pair TEXT NOT NULL,
    token_hash TEXT UNIQUE,  -- NULL: it was given the token of its pair, before there was this table
    issued_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    said TEXT NOT NULL DEFAULT ''  -- SHA-256 of the report that the token died with
) STRICT;

-- Machines that are booting with the token of their pair at this moment go on with it. One that
-- has reported since it had power is not booting, whatever it is about to be told.
INSERT INTO machine_tokens (machine, pair, token_hash, issued_at, expires_at)
SELECT
    name,
    coalesce(nullif(json_extract(value, '$.heading_for'), ''), json_extract(value, '$.revision')),
    NULL,
    powered_at,
    strftime('%Y-%m-%dT%H:%M:%f+00:00', powered_at, '+11 hours')
FROM machines
WHERE gone_at IS NULL
    AND powered_at IS NOT NULL
    AND (phase = 'booting' OR coalesce(json_extract(value, '$.heading_for'), '') <> '')
    AND NOT EXISTS (
        SELECT 1 FROM reports WHERE machine = name AND reported_at >= powered_at
    );
