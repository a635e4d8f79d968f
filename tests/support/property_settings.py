"""How many examples of a property are tried: few in a quick run, all of them with `--hypothesis-profile=ci`."""

from typing import Any

from hypothesis import settings


def property_settings(examples: int, **others: Any) -> settings:
    """Settings of a property: so many examples in full, a tenth of them (at least ten) in a quick run."""
    in_full = settings.get_current_profile_name() == "ci"
    return settings(max_examples=examples if in_full else min(examples, max(10, examples // 10)), **others)
