"""Models and default slots."""
