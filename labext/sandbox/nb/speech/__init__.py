"""Speech: texts spoken by voices, and sound heard as text."""
