"""Output, markup and live views shared by all widgets."""
