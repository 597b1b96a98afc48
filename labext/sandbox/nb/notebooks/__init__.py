"""Notebooks: what groups sources and notes."""
