"""The commands of `%nb`."""
