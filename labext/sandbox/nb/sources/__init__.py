"""Sources: uploads, web pages and texts."""
