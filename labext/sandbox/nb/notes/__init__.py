"""Notes written by users and models."""
