"""The commands of `%lab`."""
