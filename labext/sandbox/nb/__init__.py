"""The local notebook service: what its contract names, with real ingestion, search and answers."""
