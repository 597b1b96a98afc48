"""The revisions of the tables, one a file."""
