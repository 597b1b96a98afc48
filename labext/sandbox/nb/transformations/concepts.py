"""Kinds of sentences that a prompt may ask for by name, and how each kind is known.

A sentence with a concentration says `0.2 %` or `50 mM`, and rarely the word.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_NUMBER = r"(?<![\w.])\d[\d.,]*(?:\s?[-–±x×]\s?\d[\d.,]*)?\s?"


class Concept(NamedTuple):
    """A kind of sentences.

    Attributes:
        called: what a prompt calls it: the beginnings of its words, as a pattern.
        known_by: what a sentence of that kind has.
        is_topic: whether its name, too, may stand in the sentences.
        is_general: whether every text has it, also where no word says so.
    """

    called: str
    known_by: re.Pattern[str]
    is_topic: bool = True
    is_general: bool = False

    def is_in(self, sentence: str) -> bool:
        """Whether a sentence is of this kind."""
        if self.known_by.search(sentence):
            return True
        return self.is_topic and re.search(rf"(?i)\b(?:{self.called})", sentence) is not None


def _of(called: str, known_by: str, *, is_topic: bool = True, is_general: bool = False) -> Concept:
    return Concept(called, re.compile(known_by), is_topic, is_general)


_CONCENTRATION = (
    rf"{_NUMBER}(?:%|‰|[mnpµμu]?M\b|mol/|[mnµμ]?g/[mµμ]?[lL]\b|U/|ppm\b|mg/kg|[mnpµμ]?mol\b|[xX]\b)"
)
_AMOUNT = rf"{_NUMBER}(?:[nmµμu]?[lLg]\b|kg\b|units?\b|U\b|drops?\b|pieces?\b)"
_TEMPERATURE = rf"{_NUMBER}(?:°|º|℃|K\b|degrees?\b)|\broom temperature\b|\bon ice\b"
_TIME = rf"{_NUMBER}(?:s|sec|seconds?|min|minutes?|h|hr|hours?|days?|d|weeks?|months?|years?)\b|"
_TIME += (
    r"\bovernight\b|(?i:\b(?:one|two|three|four|five|six|ten|several) (?:min|hour|day|week)\w*)"
)
_SPEED = rf"{_NUMBER}(?:rpm\b|[x×]\s?g\b|g\b(?= for)|Hz\b)"
_DEVICE = (
    r"(?i)\b(?:centrifug|incubator|microscop|spectro|cycler|pipett|shaker|column|gel\b|plate|tube|"
    r"flask|reader|sequencer|electrophor|autoclav|freezer|scanner|sensor|filter|detector|robot)"
)
_REAGENT = (
    r"(?i)\b(?:buffer|reagent|medium|media\b|solution|enzyme|antibod|primer|ethanol|water|agar|"
    r"glucose|arabinose|ampicillin|polymerase|ligase|dntp|tris|edta|nacl|mgcl|sds|iptg|salt|acid|"
    r"serum|antibiotic|dye|stain)"
)
_METHOD = (
    r"(?i)\b(?:was|were|is|are)\s+(?:\w+ly\s+)?\w{3,}(?:ed|wn|en|ght|un|ut)\b|"
    r"^(?:[-*•\d.)\s]*)(?:add|apply|pellet|lyse|wash|mix|heat|cool|incubate|centrifuge|spin|measure|"
    r"grow|store|transfer|elute|prepare|dissolve|plate|inoculate|dilute|collect|run|use|keep|set|"
    r"remove|discard|resuspend|shake|warm|count|record|repeat)\b"
)

CONCEPTS = (
    _of(r"concentration|molarit", _CONCENTRATION),
    _of(r"reagent|chemical|material|ingredient|compound", rf"{_REAGENT}|{_CONCENTRATION}"),
    _of(r"amount|volume|quantit|mass\b|weight", f"{_AMOUNT}|{_CONCENTRATION}"),
    _of(r"temperature", _TEMPERATURE),
    _of(r"times?\b|duration|how long|incubation", _TIME),
    _of(r"speed|rpm", _SPEED),
    _of(r"device|equipment|instrument|apparatus", _DEVICE),
    _of(
        r"numbers\b|numeric|figures\b|measurements?\b|units?\b|data\b|values\b",
        r"\d",
        is_topic=False,
    ),
    _of(r"method|procedure|protocol|how it was done", _METHOD, is_topic=False),
    _of(
        r"(?:open |unanswered )?questions?\b|unknown|unclear|gap",
        r"\?[\"'”’)\]]*$|(?i:\b(?:unknown|unclear|unexplained|open question|not (?:yet )?(?:known|"
        r"clear|understood|tested|been)|remains? to be|to be (?:tested|shown|determined|seen)|"
        r"whether|future work|further (?:work|stud|experiment)|(?-i:may)\b|might\b|could explain))",
        is_topic=False,
    ),
    _of(
        r"(?:key |main )?findings?\b|results?\b|conclusions?\b|outcome",
        r"(?i)\b(?:we (?:show|find|found|observed?|conclude)|show(?:s|n|ed)?\b|found\b|results? in|"
        r"conclu|increas|decreas|reduc|improv|higher|lower|significan|therefore|thus|because|"
        r"reveal|demonstrat|confirm|suggest|indicat|so that|leads? to|depend)",
        is_topic=False,
        is_general=True,
    ),
    _of(
        r"definition|define|glossary|terms\b",
        r"\b(?:is|are) (?:an?|the)\b|\bcalled\b|\bdefined as\b|\brefers? to\b|\([A-Z]{2,}s?\)",
        is_topic=False,
    ),
    _of(
        r"warning|caution|hazard|safety|risk|danger|pitfall",
        r"(?i)\b(?:do not|never|avoid|careful|caution|warning|toxic|hazard|gloves|danger|must not|"
        r"risk|flammable|burns?\b|harmful)",
    ),
    _of(
        r"limitation|weakness|drawback|shortcoming",
        r"(?i)\b(?:however|although|but\b|only\b|limit|could not|cannot|did not|fail|drawback|"
        r"despite|unfortunately)",
    ),
    _of(
        r"reasons?\b|causes?\b|why\b|explanation",
        r"(?i)\b(?:because|since|so that|due to|reason|therefore|thus|caus)",
    ),
    _of(
        r"dates?\b|deadline|when\b",
        r"\b(?:1[89]|20)\d\d\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|(?i:\b(?:mon|tues|wednes|thurs|fri)day\b)",
    ),
    _of(r"costs?\b|prices?\b", r"[€$£]|(?i:\b(?:euro|dollar|cost|price)s?\b)"),
    _of(
        r"tasks?\b|to-?dos?\b|actions?\b|next steps?",
        r"(?i)\b(?:must|should|needs? to|to ?do|ask\b|check\b|order\b|vary\b|repeat\b|next\b|plan)",
    ),
)
"""Every kind; a prompt may ask for several."""
