-- Checksums for rows of which no hash covers every column, and the totals of a dialog, so that a
-- listing adds up nothing. A head's hash has another name: an older program, which would leave the
-- checksum as it is, stops at its next statement.

ALTER TABLE tract_schema ADD COLUMN dialogs BIGINT NOT NULL DEFAULT 0;

ALTER TABLE dialogs ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;

ALTER TABLE dialogs ADD COLUMN branches BIGINT NOT NULL DEFAULT 0;

ALTER TABLE dialogs ADD COLUMN commits BIGINT NOT NULL DEFAULT 0;

ALTER TABLE dialogs ADD COLUMN tokens BIGINT NOT NULL DEFAULT 0;

ALTER TABLE dialogs ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;

ALTER TABLE dialogs ADD COLUMN errors BIGINT NOT NULL DEFAULT 0;

ALTER TABLE dialogs ADD COLUMN updated_at BIGINT NOT NULL DEFAULT 0;

ALTER TABLE dialogs ADD COLUMN total BIGINT NOT NULL DEFAULT 0;

ALTER TABLE branches RENAME COLUMN head_hash TO commit_hash;

ALTER TABLE branches ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;

ALTER TABLE chunks ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0;
