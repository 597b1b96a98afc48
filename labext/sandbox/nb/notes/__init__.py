"""Notes: what people and models write."""
