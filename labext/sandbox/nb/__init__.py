"""Serve a local notebook service with ingestion, search and answers; its rules are in RULES.md."""
