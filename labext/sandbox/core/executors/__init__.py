"""Run queued tasks, each in its own process group."""
