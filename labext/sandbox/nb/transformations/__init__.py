"""Transformations: prompts that models apply to texts."""
