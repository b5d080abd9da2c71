-- What is known about an imported dialog: its title, the folder and the model, times, cost.

ALTER TABLE dialogs ADD COLUMN facts TEXT;
