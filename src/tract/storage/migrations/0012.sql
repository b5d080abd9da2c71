-- What is left of commits and tool definitions of which something was erased: their hash, and the
-- hash of the rest, by which they are verified. The number changes whenever something is erased or
-- comes back: who has read a history before reads it again.

CREATE TABLE erased (
    hash {bytes} NOT NULL,
    left_hash {bytes} NOT NULL,
    PRIMARY KEY (hash, left_hash)
);

ALTER TABLE tract_schema ADD COLUMN erasures BIGINT NOT NULL DEFAULT 0;
