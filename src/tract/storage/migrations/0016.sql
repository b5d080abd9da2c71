-- A name that no other database has: its objects are in a folder of that name, so that databases can
-- share a bucket, and collecting the garbage of one leaves the objects of the others alone.

ALTER TABLE tract_schema ADD COLUMN identity TEXT NOT NULL DEFAULT '';

UPDATE tract_schema SET identity = {random};
