"""Records of sequences for tests of files."""

from __future__ import annotations

PLASMID = {
    "id": "seq_4fK9",
    "name": "my plasmid (pBAD30-µ), the one with a long name",
    "bases": "ACGTnnRYacgt" * 20,
    "length": 240,
    "isCircular": True,
    "annotations": [
        {
            "name": "over the origin",
            "type": "CDS",
            "start": 200,
            "end": 10,
            "strand": -1,
            "color": "#31849B",
        },
        {"name": "end", "type": "a b", "start": 3, "end": 0, "strand": 0, "color": None},
    ],
    "aliases": ["p30", 'pBAD\'s "30"'],
    "createdAt": "2026-11-20T13:23:23.760000+00:00",
    "modifiedAt": "2026-11-20T13:23:23.760000+00:00",
    "creator": {"handle": "student", "id": "ent_1", "name": "Student"},
    "customFields": {"freezer": {"value": "-80 °C"}},
    "fields": {"Volume": {"value": 3.0, "displayValue": "3", "type": "float"}},
    "folderId": None,
    "url": "/campus/f/lib_1-plasmids/seq_4fK9-pbad30/edit",
}
PRIMER = {"name": "primer", "bases": "ACGTACGT"}
