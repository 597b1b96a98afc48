"""Batches: many jobs of one tool, split into parts where the service takes no more."""
