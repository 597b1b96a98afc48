"""Passages, and how they are found: by their words, by their meaning, and by both."""
