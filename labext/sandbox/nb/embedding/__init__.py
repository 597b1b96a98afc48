"""Embedding models and the vectors of passages."""
