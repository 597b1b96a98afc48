"""DNA sequences: records, search, and import from FASTA and GenBank files."""
