"""Podcast episodes about a notebook: script, speech and audio."""
