"""Health, metrics and logs of the services."""
