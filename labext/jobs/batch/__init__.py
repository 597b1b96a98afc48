"""Batches: many jobs of one tool, split into parts of the service's maximum size."""
