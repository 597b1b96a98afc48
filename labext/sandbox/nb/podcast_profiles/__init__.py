"""Speaker profiles and episode profiles of podcasts."""
