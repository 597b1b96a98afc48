"""Users' files: in the data folder, or as objects in S3-compatible storage or another directory."""
