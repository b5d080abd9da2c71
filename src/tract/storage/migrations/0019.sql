-- Long texts are stored in UTF-8, with a seal: codec 7, which an older tract does not know.
--
-- SQLite reads all pages of a long column to reach those behind it. So the payload becomes the last
-- one, and whoever lists a history reads none of them. PostgreSQL keeps long values elsewhere.

/* SQLite */ ALTER TABLE blobs RENAME COLUMN payload TO former_payload;
/* SQLite */ ALTER TABLE blobs ADD COLUMN payload {bytes};
/* SQLite */ UPDATE blobs SET payload = former_payload;
/* SQLite */ ALTER TABLE blobs DROP COLUMN former_payload;
