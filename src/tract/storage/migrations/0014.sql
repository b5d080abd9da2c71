-- The checksum of a dialog covers its settings and facts too, and a gist is bound to its content;
-- that is done in Python. A size has another name: it says of what, and an older program, which
-- would collect, delete or forget without counting that, stops at its next statement.

ALTER TABLE blobs RENAME COLUMN byte_size TO json_size;
