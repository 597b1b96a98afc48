"""What is done with a source in a process of its own: its text, its passages, their vectors."""
