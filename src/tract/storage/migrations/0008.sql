-- The form in which a result entered the view, what is shown in the place of a large one, and the
-- settings by which both are chosen. Of a large text, each chunk knows with which line it begins.

ALTER TABLE commits ADD COLUMN form TEXT;

ALTER TABLE blobs ADD COLUMN gist {bytes};

ALTER TABLE chunks ADD COLUMN first_line BIGINT;

ALTER TABLE dialogs ADD COLUMN result_settings TEXT;
