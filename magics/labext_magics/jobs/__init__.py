"""The commands of `%jobs`."""
