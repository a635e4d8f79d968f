"""What a role of a scene says of what it has heard and of what was kept from it: words are compared, nobody judges."""

from collections.abc import Iterable, Sequence

from dramaturg.evaluation.datasets.dataset import Played
from dramaturg.evaluation.judging.recall import recalled
from dramaturg.evaluation.judging.scales import HEARD, PRESENCE


def stands_in(texts: Iterable[str], word: str) -> bool:
    """Whether a word, or one that means the same, stands in one of some texts."""
    spelled = [one.strip() for one in word.split("|") if one.strip()]
    return any(recalled(text, one) for text in texts for one in spelled)


def words_in(texts: Sequence[str], played: Played) -> tuple[str, ...]:
    """Which of the words by which an answer is known stand in some texts."""
    return tuple(one for one in dict.fromkeys((*played.says, *played.secrets)) if stands_in(texts, one))


def presence(metric: str, played: Played | None, reply: str, in_prompts: Sequence[str]) -> float | None:
    """Measure a reply, or its prompts.

    Args:
        metric: `presence` is 1 where a reply has all that is to be said, and neither a secret nor a claim; of who may
            suspect, what it suspects need not be said. `heard` is 1 where all of that stood in a prompt, and `leak`
            where a secret did.
        played: what was played, and the words.
        reply: what the role said.
        in_prompts: which of the words stood in a prompt.

    Returns:
        None where the metric is not defined: no scene was played, or there are no such words.
    """
    if played is None:
        return None
    if metric == PRESENCE:
        wanted = () if played.secrets else played.says
        kept = not any(stands_in([reply], one) for one in (*played.secrets, *played.claims))
        return float(kept and all(stands_in([reply], one) for one in wanted))
    if metric == HEARD:
        return float(all(one in in_prompts for one in played.says)) if played.says else None
    return float(any(one in in_prompts for one in played.secrets)) if played.secrets else None
