-- What is appended to a branch is counted in its row, which is written in any case. So an append does
-- not write the row of its dialog, and writers on two branches do not wait for each other. What was
-- counted before stays where it is: a dialog has what its row counts and what its branches count.
-- Gists are not compressed: see bind_gists.

ALTER TABLE branches ADD COLUMN commits BIGINT NOT NULL DEFAULT 0;
ALTER TABLE branches ADD COLUMN tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE branches ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE branches ADD COLUMN errors BIGINT NOT NULL DEFAULT 0;
ALTER TABLE branches ADD COLUMN updated_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE branches ADD COLUMN total BIGINT NOT NULL DEFAULT 0;
