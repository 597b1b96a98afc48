"""Notebooks: groups of sources and notes."""
