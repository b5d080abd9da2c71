-- The tables of a new database. It is what the numbered files lead to, in one step: they take four
-- times as long. A test compares the two. Why a table is as it is, is said where it was added.

CREATE TABLE tract_schema (
    version INTEGER NOT NULL,
    erasures BIGINT NOT NULL DEFAULT 0,
    dialogs BIGINT NOT NULL DEFAULT 0,
    identity TEXT NOT NULL DEFAULT ''
);

INSERT INTO tract_schema (version, identity) VALUES (21, {random});

CREATE TABLE dialogs (
    id {key},
    name TEXT NOT NULL UNIQUE,
    branch TEXT NOT NULL,
    detached_id BIGINT,
    detached_hash {bytes},
    created_at BIGINT NOT NULL,
    result_settings TEXT,
    summarization TEXT,
    facts TEXT,
    checksum BIGINT NOT NULL DEFAULT 0,
    branches BIGINT NOT NULL DEFAULT 0,
    commits BIGINT NOT NULL DEFAULT 0,
    tokens BIGINT NOT NULL DEFAULT 0,
    bytes BIGINT NOT NULL DEFAULT 0,
    errors BIGINT NOT NULL DEFAULT 0,
    updated_at BIGINT NOT NULL DEFAULT 0,
    total BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE blobs (
    id {key},
    hash {bytes} NOT NULL UNIQUE,
    codec SMALLINT NOT NULL,
    json_size BIGINT NOT NULL,
    token_count BIGINT NOT NULL,
    token_source TEXT NOT NULL,
    preview TEXT,
    checksum BIGINT NOT NULL,
    gist {bytes},
    text_size BIGINT NOT NULL DEFAULT 0,
    payload {bytes}
);

CREATE TABLE chunks (
    blob_id BIGINT NOT NULL,
    position INTEGER NOT NULL,
    hash {bytes} NOT NULL,
    codec SMALLINT NOT NULL,
    payload {bytes} NOT NULL,
    first_line BIGINT,
    checksum BIGINT NOT NULL DEFAULT 0,
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
    toolset_id BIGINT,
    active_toolset_id BIGINT,
    form TEXT,
    UNIQUE (dialog_id, hash)
);

CREATE INDEX commits_by_content ON commits (blob_id);

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
    commit_hash {bytes},
    checksum BIGINT NOT NULL DEFAULT 0,
    commits BIGINT NOT NULL DEFAULT 0,
    tokens BIGINT NOT NULL DEFAULT 0,
    bytes BIGINT NOT NULL DEFAULT 0,
    errors BIGINT NOT NULL DEFAULT 0,
    updated_at BIGINT NOT NULL DEFAULT 0,
    total BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (dialog_id, name)
);

CREATE TABLE tool_definitions (
    id {key},
    hash {bytes} NOT NULL UNIQUE,
    name TEXT NOT NULL,
    schema TEXT NOT NULL,
    token_count BIGINT NOT NULL,
    token_source TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    checksum BIGINT NOT NULL
);

CREATE INDEX tool_definitions_name ON tool_definitions (name);

CREATE TABLE toolsets (
    id {key},
    hash {bytes} NOT NULL UNIQUE
);

CREATE TABLE toolset_members (
    toolset_id BIGINT NOT NULL,
    position INTEGER NOT NULL,
    tool_id BIGINT NOT NULL,
    PRIMARY KEY (toolset_id, position)
);

CREATE VIEW commit_tools AS
SELECT {hex}c.hash{end} AS commit_hash, {hex}d.hash{end} AS tool_hash, m.position AS position
FROM commits c
JOIN toolset_members m ON m.toolset_id = coalesce(c.toolset_id, c.active_toolset_id)
JOIN tool_definitions d ON d.id = m.tool_id;

CREATE TABLE erased (
    hash {bytes} NOT NULL,
    left_hash {bytes} NOT NULL,
    PRIMARY KEY (hash, left_hash)
);

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

CREATE TABLE word_index (
    is_on SMALLINT NOT NULL,
    done BIGINT NOT NULL,
    until BIGINT NOT NULL,
    checksum BIGINT NOT NULL
);

INSERT INTO word_index VALUES (1, 0, 0, 4206009033);

CREATE TABLE vocabulary (
    id {key},
    after BIGINT NOT NULL,
    until BIGINT NOT NULL,
    size BIGINT NOT NULL,
    words {bytes} NOT NULL,
    checksum BIGINT NOT NULL
);

{content_words};
