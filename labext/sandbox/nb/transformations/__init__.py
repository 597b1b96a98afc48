"""Transformations: prompts that models apply to texts, and the insights that they create."""
