"""What a chat model can do, for each kind of question and for each method."""

from collections import Counter
from collections.abc import Callable, Mapping

from dramaturg.models.chat import ChatModel
from dramaturg.models.trial import FEATURES, QUESTIONS, learn_listed, speed_of, try_model, way_of
from dramaturg.workflows.finding import Finding

ASKED = {
    "amadeus": {"decide": "which passages answer the question", "extract": "what the role believes and is like"},
    "role-rag": {"extract": "who and what is spoken of", "write": "a page that would answer"},
    "emotional-rag": {"extract": "moods"},
    "drmr": {"rate": "how well a line fits the role", "extract": "what is remembered"},
    "id-rag": {
        "choose": "what the role does",
        "decide": "whether that is like the role",
        "extract": "what has changed",
    },
}
"""What each method asks, by kind of question."""


async def check_model(chat: ChatModel, show: Callable[[int, int], None] = lambda *_: None) -> list[Finding]:
    """Ask a model ten small questions: what its server takes, what it makes of each kind, and what follows for methods.

    Args:
        chat: the model.
        show: is told how many are answered, and of how many.

    Raises:
        ModelError: none of them can be answered.
    """
    listed = await learn_listed(chat)
    tried = await try_model(chat, show)
    server, right = chat.shared.server, Counter(one.kind for one in tried if one.right)
    asked = Counter(one.kind for one in QUESTIONS)
    passes = right.total() > len(tried) // 2 or None
    found = [Finding("chat model", passes, f"{chat.name} got {right.total()} of {len(tried)} small questions right")]
    for kind, count in asked.items():
        seconds = sum(one.seconds for one in tried if one.kind == kind) / count
        way = "" if kind == "write" else f", put by {way_of(chat, kind)}"
        found.append(
            Finding(
                f"· {kind}", right[kind] == count or None, f"{right[kind]} of {count} right, {seconds:.1f} s each{way}"
            )
        )
    refused = [words for feature, words in FEATURES.items() if feature in server.refused]
    found.append(
        Finding(
            "· server",
            not refused or None,
            f"does not take {', '.join(refused)}" if refused else "takes all that is asked for",
        )
    )
    thinks = (
        "thinks aloud: its thoughts are left out"
        if server.limit("thinks") or server.limit("unopened") or any(one.account.thought_tokens for one in tried)
        else "does not think aloud"
    )
    window, speed = chat.window, speed_of(tried)
    found.append(
        Finding("· habits", True, f"{thinks}; {f'{speed:.0f} tokens a second' if speed else 'speed not known'}")
    )
    found.append(
        Finding(
            "· window",
            bool(window) or None,
            f"{window:,} tokens" if window else "not known: a prompt that is too long tells it",
        )
    )
    if listed.price:
        read, written = listed.price
        found.append(Finding("· price", True, f"${read:.2f} a million tokens read, ${written:.2f} written"))
    return [
        *found,
        *(method_finding(method, kinds, right, asked, way_of(chat, "decide")) for method, kinds in ASKED.items()),
    ]


def method_finding(
    method: str, kinds: Mapping[str, str], right: Mapping[str, int], asked: Mapping[str, int], way: str
) -> Finding:
    """What a method can do with a model."""
    weak = [f"{what} ({kind})" for kind, what in kinds.items() if right[kind] < asked[kind]]
    words = bool(kinds.keys() & {"decide", "rate"}) and way != "log-probabilities"
    found = f"do not trust it with {', '.join(weak)}" if weak else "answers all that it asks"
    return Finding(
        f"· {method}",
        not weak or None,
        found + ("; it judges in words, thresholds of probabilities have no part" if words else ""),
    )
