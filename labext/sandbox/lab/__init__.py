"""Serve a local laboratory platform to callers with access; its rules are in RULES.md."""
