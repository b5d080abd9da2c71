-- The index of words. It names the contents that may have a word; what a search returns is verified
-- by their texts. Contents that were written before are indexed by the first searches: those after
-- `done`, up to `until`.

CREATE TABLE word_index (
    is_on SMALLINT NOT NULL,
    done BIGINT NOT NULL,
    until BIGINT NOT NULL,
    checksum BIGINT NOT NULL
);

CREATE TABLE vocabulary (
    id {key},
    after BIGINT NOT NULL,
    until BIGINT NOT NULL,
    size BIGINT NOT NULL,
    words {bytes} NOT NULL,
    checksum BIGINT NOT NULL
);

CREATE INDEX commits_by_content ON commits (blob_id);

{content_words};

INSERT INTO word_index VALUES (1, 0, 0, 4206009033);
