"""Thoughts: what a model that thinks aloud writes before it speaks, and what no reader of its text is to see.

A text comes in parts, cut anywhere. The marks round thoughts are found by one pattern; the end of a part that may be
the beginning of a mark waits for the next one. What is and what is not a mark is listed in
`tests/models/test_thoughts.py`.
"""

import re
from typing import Literal, NamedTuple

Kind = Literal["open", "close", "end", "speech", "label", "role", "channel", "message", "within", "wrap", "nothing"]
"""What a mark does.

`open` and `close` stand round thoughts, `speech` before what is said. `end` ends thoughts where its family is open, and
says nothing elsewhere. `label` opens a block whose first word says whether it is thoughts; `role` and `channel` begin a
header, which `message` ends and `within` stands in. `wrap` stands round what is said, if there were thoughts before.
"""
Mode = Literal["begin", "said", "thought", "label", "role", "channel", "stripped"]


class Mark(NamedTuple):
    """A mark, and the family of marks that it closes or is closed by."""

    kind: Kind
    family: str


# The names of tags. A tag closes only its own family: thoughts may speak of the others.
FAMILIES = {
    "think": ("think", "thinking", "antthinking", "seed:think", "mm:think", "think:opensource"),
    "thought": ("thought", "thoughts"),
    "inner thought": ("inner_thought", "inner_thoughts", "internal_thought", "internal_thoughts"),
    "reason": ("reason", "reasoning"),
    "reflection": ("reflection",),
    "scratchpad": ("scratchpad",),
    "analysis": ("analysis",),
}
WRAPS = ("answer", "final", "output", "response")
NAMES = {name: family for family, names in FAMILIES.items() for name in names} | dict.fromkeys(WRAPS, "wrap")

# Special tokens that a server left in the text, in lower case.
TOKENS = {
    "[think]": Mark("open", "bracket"),  # Magistral
    "[/think]": Mark("close", "bracket"),
    "[unused16]": Mark("open", "unused"),  # Pangu
    "[unused17]": Mark("close", "unused"),
    "◁think▷": Mark("open", "triangle"),  # Kimi-VL
    "◁/think▷": Mark("close", "triangle"),
    "<|begin_of_thought|>": Mark("open", "solution"),  # OpenThoughts, Sky-T1
    "<|end_of_thought|>": Mark("close", "solution"),
    "<|begin_of_solution|>": Mark("speech", "solution"),
    "<|end_of_solution|>": Mark("nothing", "solution"),
    "<|start_thinking|>": Mark("open", "cohere"),
    "<|end_thinking|>": Mark("close", "cohere"),
    "<|start_response|>": Mark("speech", "cohere"),
    "<|end_response|>": Mark("nothing", "cohere"),
    "<|start_text|>": Mark("speech", "cohere"),
    "<|end_text|>": Mark("nothing", "cohere"),
    "<|inner_prefix|>": Mark("open", "apertus"),
    "<|inner_suffix|>": Mark("close", "apertus"),
    "<|content_thinking|>": Mark("open", "inkling"),
    "<|content_text|>": Mark("speech", "inkling"),
    "<|end_message|>": Mark("end", "inkling"),
    "<|message_model|>": Mark("nothing", "inkling"),
    "<|content_model_end_sampling|>": Mark("nothing", "inkling"),
    "<|channel>": Mark("label", "gemma"),  # Gemma 4
    "<channel|>": Mark("close", "gemma"),
    "<unused94>": Mark("label", "medgemma"),
    "<unused95>": Mark("close", "medgemma"),
    # Harmony, the format of gpt-oss; with other names for the same Solar ("begin", "content") and Kimi K3 ("open", …).
    "<|start|>": Mark("role", "channel"),
    "<|begin|>": Mark("role", "channel"),
    "<|close|>": Mark("role", "channel"),
    "<|channel|>": Mark("channel", "channel"),
    "<|open|>": Mark("channel", "channel"),
    "<|constrain|>": Mark("within", "channel"),
    "<|message|>": Mark("message", "channel"),
    "<|content|>": Mark("message", "channel"),
    "<|sep|>": Mark("message", "channel"),
    "<|end|>": Mark("end", "channel"),
    "<|return|>": Mark("end", "channel"),
    "<|call|>": Mark("end", "channel"),
    "<|think|>": Mark("open", "channel"),
    "<|/think|>": Mark("close", "channel"),
}
IN_HEADERS: frozenset[Kind] = frozenset({"label", "role", "channel", "message", "within"})
SPOKEN = {"final", "response"}  # channels; what comes in any other is thoughts
LABELS = {"analysis", "thinking", "thought", "thoughts"}

LONGEST = 120  # characters within a mark, or of a header; the most that waits
FIRST = "<[◁"  # what a mark begins with: none of these stands within it
INSIDE = rf"[^<>\[◁]{{1,{LONGEST}}}"
ATTRIBUTE = r"""\s+[\w:.-]+\s*=\s*(?:"[^">]*+"|'[^'>]*+'|[^\s"'=>]+)"""
TAG = (
    rf"(?i:<(?={INSIDE}>)\s*(?P<slash>/?)\s*"
    rf"(?P<name>{'|'.join(map(re.escape, NAMES))})(?:{ATTRIBUTE})*\s*(?P<empty>/?)>)"
)
# In brackets as the tokens are written: "[think]" in small letters is a stage direction.
BRACKETS = "|".join(re.escape(one.upper() if "think" in one else one) for one in TOKENS if one[0] == "[")
OTHERS = "|".join(re.escape(one) for one in TOKENS if one[0] != "[")
MARK = re.compile(rf"(?=[{re.escape(FIRST)}])(?:{TAG}|{BRACKETS}|(?i:{OTHERS}))", re.ASCII)
BEGUN = re.compile(r"<\s*/?\s*(?P<name>[a-z_:]*)(?P<more>[\s/][^>]*)?", re.ASCII | re.IGNORECASE)

# What is left of harmony where a server leaves out the special tokens: "analysisWe need to …assistantfinalHello".
STRIPPED = "analysis"
STRIPPED_BEGIN = re.compile(rf"{STRIPPED}[^\W_]")
STRIPPED_END = "assistantfinal"


class Split(NamedTuple):
    """A text in two; `unopened` is whether a tag closed thoughts that none had opened."""

    said: str
    thoughts: str
    unopened: bool


def split_thoughts(text: str, *, unopened: bool = False) -> Split:
    """Split a whole text into what is said and what is thought.

    Args:
        text: what a model wrote.
        unopened: whether it begins within thoughts; see `Thoughts`.
    """
    parts = Thoughts(unopened=unopened)
    said = parts.feed(text)  # before `end`, which may take it back
    rest = parts.end()
    return Split(said + rest, parts.thoughts, parts.said_unopened)


class Thoughts:
    """Splits a text that comes in parts into what is said and what is thought.

    Thoughts that are not closed go on to the end. Within thoughts an opening tag means nothing, and the first closing
    one of the same family closes them: models write of the tags that they think in.

    Args:
        unopened: whether the text begins within thoughts, since the chat template has opened them in the prompt. They
            end at a closing tag of any family. Where none comes, all of the text is said: `end` gives it.

    Attributes:
        said_unopened: a closing tag came where nothing was open, so that what was said before it was thoughts as well.
            Whoever has shown it takes it back.
    """

    def __init__(self, *, unopened: bool = False) -> None:
        self.said_unopened = False
        self._within = unopened  # the thoughts that the prompt opened: nothing is said before they end
        self._all: list[str] = []  # the text, as long as they have not ended
        self._mode: Mode = "said" if unopened else "begin"
        self._family = ""  # of what is open
        self._waiting = ""  # the end of the text that may be the beginning of a mark
        self._header = ""
        self._blocks: list[list[str]] = []  # of thoughts
        self._said: list[str] = []
        self._out: list[str] = []  # what is said in this part
        self._space: list[str] = []  # before anything is said: it may come before thoughts
        self._trim = False  # what was taken out stands between two spaces, or before all that is said

    @property
    def thoughts(self) -> str:
        """What was thought so far, without tags; with `unopened` all of the text until a closing tag comes."""
        blocks = [*self._blocks, self._said] if self._within else self._blocks
        return "\n".join(block for block in ("".join(parts).strip() for parts in blocks) if block)

    def feed(self, part: str) -> str:
        """What of the text so far is now known to be said.

        Args:
            part: the next of the text.
        """
        if self._within:
            self._all.append(part)
        self._read(self._waiting + part)
        return self._given()

    def end(self) -> str:
        """The rest that is said: what was no mark after all; with `unopened` and no closing tag, the whole text."""
        rest, self._waiting = self._waiting, ""
        if self._mode == "begin":
            self._mode = "said"
        self._take(rest)
        self._end_header()
        if self._within:
            return self._read_again()
        if self._space and not self._blocks:
            self._speak("".join(self._space), blank=True)
        return self._given()

    def _given(self) -> str:
        """What was said since the last time."""
        out, self._out = "".join(self._out), []
        return out

    def _read(self, text: str) -> None:
        """Read on, up to what waits."""
        if self._mode == "begin":
            if len(text) <= len(STRIPPED) and STRIPPED.startswith(text):
                self._waiting = text
                return
            stripped = STRIPPED_BEGIN.match(text)
            self._mode = "said"
            if stripped:
                self._think("stripped", "stripped")
                text = text[len(STRIPPED) :]
        at = self._read_stripped(text) if self._mode == "stripped" else 0
        if self._mode == "stripped":
            return
        for found in MARK.finditer(text, at):
            self._take(text[at : found.start()])
            self._heed(found)
            at = found.end()
        begun = possible_mark(text, at)
        self._take(text[at:begun])
        self._waiting = text[begun:]

    def _read_stripped(self, text: str) -> int:
        """Read thoughts that end at two words and not at a mark; the place behind those."""
        at = text.find(STRIPPED_END)
        if at >= 0:
            self._take(text[:at])
            self._close()
            return at + len(STRIPPED_END)
        begun = max(0, len(text) - len(STRIPPED_END) + 1)
        self._take(text[:begun])
        self._waiting = text[begun:]
        return len(text)

    def _take(self, text: str) -> None:
        """Text between two marks goes where the last mark said."""
        if self._mode in ("label", "role", "channel"):
            self._header += text
            if len(self._header) > LONGEST or (self._mode == "label" and re.search(r"\w\W|^\s*[^\w\s]", self._header)):
                self._end_header()
        elif self._mode in ("thought", "stripped"):
            self._blocks[-1].append(text)
        else:
            self._speak(text)

    def _speak(self, text: str, *, blank: bool = False) -> None:
        """Say something; nothing but space is `blank` where it is all that is said."""
        if self._trim:
            text = text.lstrip()
        if text.isspace() and not self._said and not blank:
            self._space.append(text)
        elif text:
            whole = text if blank else "".join([*self._space, text])
            self._trim, self._space = False, []
            self._said.append(whole)
            if not self._within:
                self._out.append(whole)

    def _heed(self, found: re.Match[str]) -> None:
        """Do what a mark says."""
        mark = mark_of(found)
        if self._mode == "label" or (self._mode in ("role", "channel") and mark.kind not in IN_HEADERS):
            self._end_header()  # it was cut short
        if self._mode == "thought" and mark.family != self._family:
            self._take(found.group())
        elif mark.kind in IN_HEADERS:
            self._heed_header(mark)
        elif mark.kind == "open":
            self._think(mark.family)
        elif mark.kind == "close":
            self._close_tag(mark.family)
        elif mark.kind == "speech":
            self._hear()
        elif mark.kind == "wrap":
            self._wrap(found.group())
        elif mark.kind == "end" and self._mode == "thought":
            self._close()

    def _heed_header(self, mark: Mark) -> None:
        """Do what a mark of a header says."""
        if mark.kind == "message":
            self._end_header(whole=True)
        elif mark.kind in ("role", "channel") or (mark.kind == "label" and not self._within):
            self._mode, self._family, self._header = mark.kind, mark.family, ""

    def _think(self, family: str, mode: Mode = "thought") -> None:
        """Thoughts begin; within those that the prompt opened, this is no news."""
        if self._within or self._mode == "thought":
            return
        self._mode, self._family, self._space = mode, family, []
        self._blocks.append([])

    def _close(self) -> None:
        """What comes now is said."""
        self._mode, self._family, self._space = "said", "", []
        self._trim = not self._said or self._said[-1][-1].isspace()

    def _close_tag(self, family: str) -> None:
        """Thoughts end, those before the text among them; what is said in a block of its own ends too."""
        if self._mode == "said" and family != self._family:
            self._take_back()
        self._close()

    def _take_back(self) -> None:
        """What was said were thoughts."""
        self.said_unopened = self.said_unopened or not self._within
        self._blocks.append([*self._space, *self._said])
        self._said, self._out, self._space, self._all = [], [], [], []
        self._within = False

    def _hear(self) -> None:
        """What comes now is said, and nothing that came before it."""
        if self._within or (self._said and not self._blocks):
            self._take_back()
        self._close()

    def _wrap(self, text: str) -> None:
        """A tag round what is said goes with the thoughts before it."""
        if not self._blocks:
            self._speak(text)
        else:
            self._close()

    def _end_header(self, *, whole: bool = False) -> None:
        """Go where the header says; without the mark that ends it, it is its first word, and the rest is text."""
        mode, family = self._mode, self._family
        if mode not in ("label", "role", "channel"):
            return
        name, rest = first_word(self._header)
        if mode == "role":
            self._close()
        elif name in SPOKEN:
            self._hear()
            self._family = family
        else:
            self._mode = "said"
            self._think(family)
            if name not in LABELS and not whole:
                rest = self._header
        if not whole:
            self._take(rest)

    def _read_again(self) -> str:
        """The prompt opened thoughts that nothing closed: the model has spoken at once."""
        parts = Thoughts()
        said = parts.feed("".join(self._all)) + parts.end()
        self._within, self._all, self._blocks, self._said = False, [], parts._blocks, []
        return said


def possible_mark(text: str, at: int) -> int:
    """Where a mark may have begun that the end of a text cuts; its length if none has.

    Args:
        text: it holds no whole mark behind the place.
        at: the place.
    """
    begin = max(text.rfind(one, max(at, len(text) - LONGEST - 1)) for one in FIRST)
    if begin < 0:
        return len(text)
    begun = text[begin:].lower()
    return begin if tag_begun(begun) or any(token.startswith(begun) for token in TOKENS) else len(text)


def tag_begun(text: str) -> bool:
    """Whether a tag may begin so."""
    found = BEGUN.fullmatch(text)
    if not found:
        return False
    name = found["name"]
    return name in NAMES if found["more"] and name else any(one.startswith(name) for one in NAMES)


def mark_of(found: re.Match[str]) -> Mark:
    """The mark that was found."""
    if not found["name"]:
        return TOKENS[found.group().lower()]
    family = NAMES[found["name"].lower()]
    if family == "wrap":
        return Mark("wrap", family)
    if found["slash"]:
        return Mark("close", family)
    return Mark("nothing" if found["empty"] else "open", family)


def first_word(header: str) -> tuple[str, str]:
    """The name in a header, in lower case, and what stands behind it."""
    begin = header[:LONGEST].lstrip()
    name = re.split(r"\W", begin, maxsplit=1)[0]
    return name.lower(), begin[len(name) :] + header[LONGEST:]
