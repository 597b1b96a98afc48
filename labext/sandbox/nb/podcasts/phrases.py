"""What is said between facts by the built-in model; none of it says anything about the matter.

`{topic}` is a name that the next fact has, `{who}` the speaker who is to say it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

REASON, STEP, NUMBER, CATCH, DEFINITION, CONDITION, PLAIN = (
    "reason",
    "step",
    "number",
    "catch",
    "definition",
    "condition",
    "plain",
)
"""Kinds of facts, by what could be asked before them."""

_KINDS = {
    STEP: r"^(?:add|apply|pellet|lyse|wash|mix|heat|cool|incubate|centrifuge|spin|measure|grow|"
    r"store|transfer|elute|prepare|dissolve|plate|inoculate|dilute|collect|run|use|keep|set|"
    r"remove|discard|resuspend|shake|warm|count|record|repeat|take|split|check|lower|vary)\b",
    CATCH: r"^(?:however|although|but|despite|yet|unfortunately)\b|\bnot perfect\b|\bcannot\b|"
    r"\bdo not\b|\bnever\b|\bless likely\b|\bavoid\b|\bcareful",
    REASON: r"\b(?:because|since|due to|for this reason)\b",
    NUMBER: r"(?<![\w-])\d[\d.,]*(?![\w-])",
    CONDITION: r"^(?:when|if|without|at|under|between|once|unless)\b",
    DEFINITION: r"^[\w\s'-]{2,40}? (?:is|are) (?:an?|the) ",
}

ASKED = {
    REASON: (
        "Is there a reason for that?",
        "What is behind it?",
        "Do we know why?",
        "And the explanation?",
        "What is the reasoning there?",
        "What makes the difference?",
        "Why should we care about {topic}?",
        "What explains it?",
    ),
    STEP: (
        "What do you do at the bench?",
        "And the next step?",
        "How do you go about it in practice?",
        "Then what?",
        "What would you do there?",
        "What has to be done?",
        "What do the instructions say?",
        "And after that?",
        "How does it continue?",
    ),
    NUMBER: (
        "Can we put numbers on that?",
        "Do we have figures?",
        "How much are we talking about?",
        "Is there a number for it?",
        "Can you be more precise?",
        "What are the values?",
        "Are there numbers for {topic}?",
        "What would be typical figures?",
    ),
    CATCH: (
        "Is there a catch?",
        "What should we watch out for?",
        "Where are the limits?",
        "Is it really that simple?",
        "What could mislead us?",
        "Is there anything that surprises people?",
    ),
    CONDITION: (
        "Does that depend on anything?",
        "Under which conditions?",
        "And what if the conditions change?",
        "When does that matter?",
        "What happens then?",
    ),
    DEFINITION: (
        "Let's be clear about the words. What is meant by {topic}?",
        "What should I picture there?",
        "Could you explain {topic} first?",
        "What are we dealing with?",
    ),
    PLAIN: (
        "What about {topic}?",
        "What do we learn about {topic}?",
        "How does {topic} come into it?",
        "What should I know about {topic}?",
        "I have {topic} on my list. What is the point there?",
        "Can we talk about {topic} for a moment?",
        "Tell me more about {topic}.",
        "What is there to say on {topic}?",
        "I am curious about {topic}.",
        "What comes to mind on {topic}?",
        "What else is there?",
        "Go on.",
        "What is the next point?",
        "What else should our listeners know?",
        "And beyond that?",
        "What did you find most useful?",
    ),
}
"""What is asked before a fact of a kind, after another one."""

OPENED = {
    STEP: (
        "How is it done in practice?",
        "What do you do at the bench?",
        "What do the instructions say?",
    ),
    NUMBER: (
        "Which figures should we know?",
        "Are there numbers for {topic}?",
        "What was measured?",
    ),
    DEFINITION: (
        "Let's be clear about the words. What is meant by {topic}?",
        "What are we dealing with?",
        "Could you explain {topic} first?",
    ),
    PLAIN: (
        "What is there to say on {topic}?",
        "How does {topic} come into it?",
        "What do we learn about {topic}?",
        "What should I know about {topic}?",
        "Tell me about {topic}.",
        "What should our listeners know first?",
        "Where shall we start?",
        "What stands out to you?",
        "What did you find there?",
        "What is it about?",
        "What do I have to know?",
    ),
}
"""What is asked before the first fact of a segment, when there is nothing to point back to."""

LED = {
    REASON: (
        "And there is a reason.",
        "Here is what lies behind it.",
        "Now the why.",
        "This is how it is explained.",
        "The explanation is worth hearing.",
    ),
    STEP: (
        "In practice it goes like this.",
        "The next step.",
        "Now to the bench.",
        "Then it continues.",
        "After that comes this.",
        "What is to be done is plain.",
    ),
    NUMBER: (
        "Now for some numbers.",
        "Here it gets precise.",
        "There are figures for this.",
        "Let us look at the values.",
        "One more number to note.",
    ),
    CATCH: (
        "A word of caution.",
        "Listen to this one with care.",
        "Here is something that is easily missed.",
        "One thing deserves attention.",
    ),
    CONDITION: (
        "It depends on the circumstances.",
        "Conditions matter here.",
        "And now imagine the situation.",
    ),
    DEFINITION: ("First, the words.", "Let us be clear about what is meant."),
    PLAIN: (
        "Let us turn to {topic}.",
        "A word on {topic}.",
        "Now {topic}.",
        "Consider {topic}.",
        "Then there is {topic}.",
        "What about {topic}?",
        "Keep {topic} in mind here.",
        "There is more.",
        "That leads to the next point.",
        "Another point.",
    ),
}
"""What one who speaks alone says before a fact of a kind."""

HEARD = (
    "I see.",
    "Right.",
    "That makes sense.",
    "Good to know.",
    "Okay.",
    "Understood.",
    "That is clear.",
    "Interesting.",
    "Noted.",
    "That helps.",
    "Fair enough.",
    "Ah, good.",
    "I had wondered about that.",
    "Thank you, that is clearer now.",
    "All right.",
    "That I will remember.",
)
"""What one says who has heard a fact."""

NOTICED = (
    "Here is a line that I marked.",
    "I noted this one.",
    "This caught my eye.",
    "I have a sentence here as well.",
    "Let me read you something.",
    "I found this worth keeping.",
    "This is what I took from it.",
)
"""What one says before a fact who mostly asks."""

ANSWERED = (
    "Yes, and there is more.",
    "Exactly. And further:",
    "True. And this belongs to it.",
    "Right, and it goes on.",
    "Yes. In addition:",
    "Agreed. Next to that:",
    "That is it. And also this.",
)
"""What is said before a fact by one who was told one."""

HANDED = (
    "{who}, what is your view on this?",
    "{who}, would you take that one?",
    "{who}, can you add something here?",
    "Let me ask {who}.",
    "{who}, how does it go on?",
    "What do you say, {who}?",
    "{who}, over to you.",
    "And {who}?",
)
"""What is asked of somebody who has not spoken for a while."""

BEGUN = (
    "Let us begin with “{topic}”.",
    "The first part is “{topic}”.",
    "We start with “{topic}”.",
)
CHANGED = (
    "Let us move on to “{topic}”.",
    "That brings us to “{topic}”.",
    "Now for “{topic}”.",
    "The next part is “{topic}”.",
    "On to “{topic}”.",
    "Time for “{topic}”.",
    "Here we leave that, and come to “{topic}”.",
    "Which takes us to “{topic}”.",
    "The next heading is “{topic}”.",
    "We continue with “{topic}”.",
)
SOURCED = (
    "We turn to another source, “{topic}”.",
    "The next source is “{topic}”.",
    "Let us open “{topic}”.",
    "I have “{topic}” in front of me now.",
    "That was one source. Another one is “{topic}”.",
)
LAST = (
    "What should our listeners take home?",
    "If you had to keep one sentence, which would it be?",
    "One thought to finish with?",
)
LAST_ALONE = (
    "And one thing to take home.",
    "If you keep one sentence, keep this one.",
    "One thought to finish with.",
)


class Phrases:
    """Takes phrases in an order of its own; the same one is never said twice."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)  # noqa: S311 - no secret: the same text, the same talk
        self._left: dict[Sequence[str], list[str]] = {}
        self._said: set[str] = set()

    def one(self, of: Sequence[str], topic: str = "", who: str = "") -> str:
        """A phrase that was not said before; empty where there is none."""
        left = self._left.setdefault(of, self._random.sample(of, len(of)))
        for each in list(left):
            if ("{topic}" in each and not topic) or ("{who}" in each and not who):
                continue
            left.remove(each)
            if "{" in each:
                left.append(each)  # about something else it is another one
            said = each.format(topic=topic, who=who)
            said = said[0].upper() + said[1:]
            if said not in self._said:
                self._said.add(said)
                return said
        return ""

    def chance(self, of: float) -> bool:
        """Whether something happens that does with this probability."""
        return self._random.random() < of


def kind(fact: str) -> str:
    """Which kind of fact a sentence is."""
    found = (name for name, known in _KINDS.items() if re.search(f"(?i){known}", fact))
    return next(found, PLAIN)
