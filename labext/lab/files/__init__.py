"""Read and write sequence records as FASTA and GenBank files without loss.

`labext.lab.files.seqrecords` converts records to SeqRecords of Biopython, and back:

    from labext.lab.files.seqrecords import from_seqrecord, to_seqrecord
    plasmid = to_seqrecord(lab.sequence("pBAD30"))
"""

from labext.lab.files.read_write import SUFFIXES, Format, read, write

__all__ = ["SUFFIXES", "Format", "read", "write"]
