"""How well scores tell two kinds apart: the area under the ROC curve."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Separation(NamedTuple):
    """The area under the ROC curve: the share of pairs (one of each kind) that the score puts in the right order."""

    auc: float
    low: float | None
    """None where no pair is wrong, or none right: DeLong's variance would be 0 there, which is no estimate."""
    high: float | None
    n_yes: int
    n_no: int


def separation(yes: Sequence[float], no: Sequence[float]) -> Separation | None:
    """Return the AUC with the interval that DeLong's variance gives (95 %, within 0 and 1); None without two kinds.

    Equal scores count half. Things count as independent of each other.
    """
    if not (len(yes) and len(no)):
        return None
    ahead = np.asarray(yes, float)[:, None] - np.asarray(no, float)[None, :]
    pairs = (np.sign(ahead) + 1) / 2
    auc = float(pairs.mean())
    if min(len(yes), len(no)) < 2 or auc in (0.0, 1.0):
        return Separation(auc, None, None, len(yes), len(no))
    variance = pairs.mean(axis=1).var(ddof=1) / len(yes) + pairs.mean(axis=0).var(ddof=1) / len(no)
    half = 1.959964 * float(np.sqrt(variance))
    return Separation(auc, max(0.0, auc - half), min(1.0, auc + half), len(yes), len(no))
