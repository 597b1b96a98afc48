"""Conversations about a notebook."""
