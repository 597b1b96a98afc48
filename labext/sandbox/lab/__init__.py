"""The local laboratory platform."""
