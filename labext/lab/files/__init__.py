"""Read and write sequence records as FASTA and GenBank files without loss."""

from labext.lab.files.read_write import SUFFIXES, Format, read, write

__all__ = ["SUFFIXES", "Format", "read", "write"]
