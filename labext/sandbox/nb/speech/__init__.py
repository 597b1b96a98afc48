"""Speech synthesis and transcription."""
