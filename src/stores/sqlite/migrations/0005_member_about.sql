-- What a member says about itself with its heartbeats, as JSON: its roles, and whether it is draining.
ALTER TABLE member ADD COLUMN about TEXT NOT NULL DEFAULT '';
