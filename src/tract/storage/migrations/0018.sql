
-- No table changes. SQLite indexes the words of new contents in groups: those after `done` are not
-- in the word index yet. An older tract would take them for indexed, so it must not write here.
