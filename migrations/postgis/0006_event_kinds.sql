-- All kinds of an event, as a JSON array of texts; null in a history that was imported before.
ALTER TABLE lineage_event ADD COLUMN kinds JSON;
