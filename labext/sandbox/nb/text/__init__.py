"""Split text into blocks, sentences and stems, and select its key sentences."""
