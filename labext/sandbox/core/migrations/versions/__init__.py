"""The revisions of the tables, one per file."""
