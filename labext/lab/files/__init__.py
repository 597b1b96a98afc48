"""Sequences as FASTA and GenBank files, and back, exactly.

    from labext.lab import files
    files.write(lab.sequences(name_includes="pla"), "plasmids.gb")
    records = files.read("plasmids.gb")

A record that was written comes back as it was, annotations and all, as long as no other program
changed the file; what one changed counts.

- `writing` and `reading`: the two functions. `writable`: what a file can be made of.
- `fasta` and `genbank`: the formats as text. `texts`: the words and lines that they can hold.
- `keeping`: what a format can't show, kept beside what it shows.
- `features` and `locations`: annotations as Biopython has them (`labext.lab.seqrecords`).
"""

from labext.lab.files.reading import read
from labext.lab.files.writing import SUFFIXES, Format, write

__all__ = ["SUFFIXES", "Format", "read", "write"]
