"""What was found of a judge, in sentences; and kept, so that each report can name it beside the judge's numbers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from dramaturg.evaluation.judging.holding import PAIR
from dramaturg.evaluation.judging.judges import JUDGES
from dramaturg.evaluation.judging.lines import SPEAKER
from dramaturg.evaluation.judging.standing import Held, InLanguage, Measured
from dramaturg.stores.errors import RoleFileError
from dramaturg.stores.files import read_if_there, write_bytes

FILE = "standings.json"
SHARED = "judges"
"""The folder in the cache where answers of judges and how they stand are kept for all runs."""


class Standing(BaseModel):
    """How well a judge told apart by a metric, on what."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    judge: str
    metric: str
    source: str
    """`anchors`, the name of a file, or empty for who is speaking."""
    version: str = ""
    prompts: tuple[str, ...]
    """Versions of the judge's prompt; what it says to another one is not known."""
    told: Measured
    by_language: Mapping[str, InLanguage] = {}
    """The same in each language; what an earlier version kept has none."""
    crossed: Measured | None = None
    length: Measured | None = None
    place: Measured | None = None
    agreed: Measured | None = None
    """As those of what was held."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What there is one of."""
        return self.judge, self.metric, self.source


LANGUAGE: Mapping[str, str] = {"en": "English", "zh": "Chinese", "ko": "Korean"}
STANDINGS = TypeAdapter(tuple[Standing, ...])


def read_standings(folder: Path) -> tuple[Standing, ...]:
    """What is kept in a folder; nothing where there is no file yet."""
    data = read_if_there(folder / FILE, within=folder)
    try:
        return STANDINGS.validate_json(data) if data else ()
    except ValidationError as error:
        raise RoleFileError(f"{folder / FILE} is damaged: remove it, and hold the judges again.") from error


def keep_standings(folder: Path, found: Iterable[Standing]) -> None:
    """Keep what was found in a folder. Fewer answers do not take the place of more to the same prompts and replies."""
    kept = {one.key: one for one in read_standings(folder)}
    before = dict(kept)
    for one in found:
        old = kept.get(one.key)
        same = old and old.version == one.version and {*one.prompts} <= {*old.prompts}
        if not (old and same and old.told.n_values > one.told.n_values):
            kept[one.key] = one
    if kept != before:
        write_bytes(folder / FILE, STANDINGS.dump_json(tuple(kept.values()), indent=1), within=folder)


def standings_of(found: Sequence[Held]) -> Iterator[Standing]:
    """What of a judge's numbers reports name."""
    for one in found:
        if one.told:
            yield Standing(**{name: getattr(one, name) for name in Standing.model_fields})


def verdicts(found: Iterable[Held]) -> Iterator[str]:
    """What can be said of judges, in sentences."""
    for one in found:
        yield from verdicts_of(one)


def verdicts_of(one: Held) -> Iterator[str]:
    """What can be said of a judge by one metric."""
    what = {PAIR: "which of two replies is better", SPEAKER: "who is speaking"}.get(one.metric, one.metric)
    if one.told is None:
        yield f"{one.judge}, {what}: nothing can be said, as nothing was answered, or all is worth the same."
        return
    if one.same:
        said = {"0": "no", "1": "yes"}.get(one.same, one.same) if is_yes_no(one.metric) else one.same
        yield f"{one.judge}, {what}: it says {said} to everything."
    if not one.told.above:
        yield f"{one.judge}, {what}: not above chance ({shown(one.told)}). What it says by this means nothing."
    yield from (f"{one.judge}, {what}: {said}" for said in weaknesses(one))
    if one.place and one.place.apart:
        if one.metric == SPEAKER:
            yield f"{one.judge}, {what}: it goes by place: the {ordinal(one.favourite)} name ({shown(one.place)})."
        else:
            side = "first" if one.place.value > one.place.chance else "second"
            yield f"{one.judge}, {what}: it goes by place: the {side} reply (chosen first: {shown(one.place)})."


def weaknesses(one: Held) -> Iterator[str]:
    """What is against a judge though it may be above chance in all: a language, length, or people."""
    for language, of in one.by_language.items() if one.told and one.told.above else ():
        if not of.told.above:
            yield f"not above chance in {LANGUAGE[language]} ({shown(of.told)})."
    if one.crossed and not one.crossed.above:
        yield f"it does not score a right reply above a wrong one of another length ({shown(one.crossed)})."
    if one.agreed and not one.agreed.above:
        yield f"it does not agree with people (Krippendorff's alpha {shown(one.agreed)})."
    if one.length and one.length.apart:
        more = "higher" if one.length.value > 0 else "lower"
        same = "than shorter ones that are worth the same"
        yield f"it scores longer replies {more} {same} ({shown(one.length)} of the scale)."


def is_yes_no(metric: str) -> bool:
    """Whether a metric says yes or no."""
    return metric in JUDGES and JUDGES[metric].scale == "yes/no"


def ordinal(place: int) -> str:
    """A place in a word."""
    return ("first", "second", "third", "fourth")[place - 1]


def shown(one: Measured) -> str:
    """A number with its interval, what chance gives and what it rests on."""
    ends = "no interval" if one.low is None or one.high is None else f"{one.low:.3f} to {one.high:.3f}"
    return f"{one.value:.3f}, 95 % {ends}, chance {one.chance:g}, n = {one.n}"
