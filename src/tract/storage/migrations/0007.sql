-- Tool definitions are kept once, and so is every ordered set of them: a commit has at most two
-- numbers. `toolset_id` is the set that was recorded with it, `active_toolset_id` the one in force
-- from there on, its own or an earlier commit's.

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

ALTER TABLE commits ADD COLUMN toolset_id BIGINT;

ALTER TABLE commits ADD COLUMN active_toolset_id BIGINT;

CREATE VIEW commit_tools AS
SELECT {hex}c.hash{end} AS commit_hash, {hex}d.hash{end} AS tool_hash, m.position AS position
FROM commits c
JOIN toolset_members m ON m.toolset_id = coalesce(c.toolset_id, c.active_toolset_id)
JOIN tool_definitions d ON d.id = m.tool_id;
