-- How many bytes the text of a content has, in UTF-8: the size that people and models are shown. The
-- contents that are there already are measured after this.

ALTER TABLE blobs ADD COLUMN text_size BIGINT NOT NULL DEFAULT 0;
