-- Which results of a dialog are summarized, and how.

ALTER TABLE dialogs ADD COLUMN summarization TEXT;
