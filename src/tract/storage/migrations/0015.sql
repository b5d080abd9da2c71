-- What a server stores beside histories: who may do what, who wrote what, and which requests were
-- answered before. A token is stored as its SHA-256 only, and so is the key of a request.

CREATE TABLE grants (
    id {key},
    name TEXT NOT NULL UNIQUE,
    digest {bytes} NOT NULL UNIQUE,
    scope TEXT NOT NULL,
    prefixes TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    used_at BIGINT,
    revoked_at BIGINT,
    checksum BIGINT NOT NULL
);

CREATE TABLE audit (
    id {key},
    at BIGINT NOT NULL,
    who TEXT NOT NULL,
    action TEXT NOT NULL,
    dialog TEXT NOT NULL,
    commit_hash {bytes},
    checksum BIGINT NOT NULL
);

CREATE TABLE receipts (
    who TEXT NOT NULL,
    key_hash {bytes} NOT NULL,
    request {bytes} NOT NULL,
    response {bytes} NOT NULL,
    created_at BIGINT NOT NULL,
    checksum BIGINT NOT NULL,
    PRIMARY KEY (who, key_hash)
);

CREATE INDEX receipts_by_time ON receipts (created_at);
