"""Answers with citations, from the passages that were found."""
