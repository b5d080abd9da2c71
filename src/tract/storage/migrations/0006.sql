-- Integer keys inside, hashes outside. Texts are ASCII: whatever a caller names is stored as the
-- inside of a JSON string, so that NUL and lone surrogates survive in both databases. No foreign
-- keys: rows are deleted in one module only, under the write lock, and `fsck` checks every reference.

CREATE TABLE tract_schema (version INTEGER NOT NULL);

INSERT INTO tract_schema VALUES (6);

CREATE TABLE dialogs (
    id {key},
    name TEXT NOT NULL UNIQUE,
    branch TEXT NOT NULL,
    detached_id BIGINT,
    detached_hash {bytes},
    created_at BIGINT NOT NULL
);

CREATE TABLE blobs (
    id {key},
    hash {bytes} NOT NULL UNIQUE,
    codec SMALLINT NOT NULL,
    payload {bytes},
    byte_size BIGINT NOT NULL,
    token_count BIGINT NOT NULL,
    token_source TEXT NOT NULL,
    preview TEXT,
    checksum BIGINT NOT NULL
);

CREATE TABLE chunks (
    blob_id BIGINT NOT NULL,
    position INTEGER NOT NULL,
    hash {bytes} NOT NULL,
    codec SMALLINT NOT NULL,
    payload {bytes} NOT NULL,
    PRIMARY KEY (blob_id, position)
);

CREATE TABLE commits (
    id {key},
    dialog_id BIGINT NOT NULL,
    hash {bytes} NOT NULL,
    parent_id BIGINT,
    blob_id BIGINT,
    operation TEXT NOT NULL,
    role TEXT,
    tool_call_id TEXT,
    name TEXT,
    is_error SMALLINT NOT NULL,
    origin TEXT,
    message TEXT,
    metadata TEXT,
    generation_config TEXT,
    usage TEXT,
    calls TEXT,
    created_at BIGINT NOT NULL,
    checksum BIGINT NOT NULL,
    UNIQUE (dialog_id, hash)
);

CREATE TABLE commit_links (
    commit_id BIGINT NOT NULL,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL,
    target_id BIGINT NOT NULL,
    value TEXT,
    PRIMARY KEY (commit_id, position)
);

CREATE TABLE branches (
    dialog_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    head_id BIGINT,
    head_hash {bytes},
    PRIMARY KEY (dialog_id, name)
);
