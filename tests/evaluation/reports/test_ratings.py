"""Ratings by people: agreement and tests against their own libraries, and files that are not as they must be."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pingouin
import pytest
from numpy.typing import NDArray
from scipy.stats import wilcoxon

from dramaturg.evaluation.reports.ratings import Rating, rated, read_ratings
from dramaturg.stores.errors import RoleFileError

from commands import Command

HEADS = "sample,rater,score,method\n"


def table(seed: int = 0, samples: int = 12, raters: int = 4) -> list[Rating]:
    """Ratings of two methods, the second a little better."""
    draw = np.random.default_rng(seed)
    return [
        Rating(f"s{sample}", method, f"r{rater}", float(round(sample % 5 + gain + draw.normal(0, 0.7), 1)))
        for sample in range(samples)
        for method, gain in (("plain", 0.0), ("ours", 0.8))
        for rater in range(raters)
    ]


def written(path: Path, ratings: list[Rating]) -> Path:
    path.write_text(HEADS + "".join(f"{one.sample},{one.rater},{one.score},{one.method}\n" for one in ratings))
    return path


def two_way(table: NDArray[np.float64]) -> float:
    """ICC(2,1) by its mean squares (Shrout and Fleiss 1979)."""
    n, k = table.shape
    rows, columns, mean = table.mean(axis=1), table.mean(axis=0), table.mean()
    between, raters = k * ((rows - mean) ** 2).sum() / (n - 1), n * ((columns - mean) ** 2).sum() / (k - 1)
    rest = ((table - rows[:, None] - columns + mean) ** 2).sum() / ((n - 1) * (k - 1))
    return float((between - rest) / (between + (k - 1) * rest + k * (raters - rest) / n))


def test_agreement_is_that_of_its_definitions() -> None:
    ratings = table()
    found = rated(ratings)
    frame = pd.DataFrame([{**one._asdict(), "of": one.sample + one.method} for one in ratings])
    wide = frame.pivot(index="of", columns="rater", values="score")
    assert found.cronbach
    assert found.cronbach.alpha == pytest.approx(pingouin.cronbach_alpha(wide)[0])
    assert found.icc
    assert found.icc.icc == pytest.approx(two_way(wide.to_numpy()))
    assert (found.samples, found.complete, len(found.raters)) == (24, 24, 4)


def test_methods_are_compared_on_the_same_samples() -> None:
    ratings = table()
    (one,) = rated(ratings).compared
    means = pd.DataFrame(ratings).groupby(["sample", "method"])["score"].mean().unstack()
    assert (one.first, one.second) == ("plain", "ours")
    assert one.difference == pytest.approx((means["plain"] - means["ours"]).mean())
    assert one.test.p == one.corrected == pytest.approx(wilcoxon(means["plain"], means["ours"]).pvalue)


def test_a_rating_that_is_missing_leaves_its_sample_out_where_it_must() -> None:
    found = rated(table()[1:])
    assert (found.samples, found.complete) == (24, 23)
    assert found.krippendorff
    assert found.krippendorff.missing == 1
    assert found.cronbach
    assert found.cronbach.n == 23


def test_what_is_not_defined_says_why() -> None:
    alone = rated([Rating(f"s{number}", "", "x", number) for number in range(6)])
    assert (alone.cronbach, alone.icc, alone.krippendorff, alone.compared, alone.methods) == (None, None, None, (), {})
    assert len(alone.why) == 3
    assert all("two raters" in line for line in alone.why)


def test_a_file_is_shown_as_tables(run: Command, tmp_path: Path) -> None:
    file = written(tmp_path / "r.csv", table())
    code, text, err = run("ratings", str(file))
    assert code == 0
    for told in ("Cronbach's alpha", "ICC(2,1)", "Krippendorff", "plain − ours"):
        assert told in text
    assert "takes samples as independent" in err
    found = json.loads(run("ratings", str(file), "--json")[1])
    assert found["compared"][0]["test"]["n"] == 12


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "line 1: there is no column sample"),
        ("sample,score\na,1\n", "line 1: there is no column rater; the columns are sample, rater, score"),
        (HEADS, "has no scores"),
        (HEADS + "a,x,1,m\n\na,y,many,m\n", "line 4: the score 'many' is no number"),
        (HEADS + "a,x,nan,m\n", "line 2: the score 'nan' is no number"),
        (HEADS + "a,,1,m\n", "line 2: sample or rater is empty"),
        (HEADS + "a,x,1,m\nb,x,1,m\na,x,2,m\n", "line 4: x rated this on line 2 already"),
        (HEADS + 'a,"x,1,m\n', r"line \d: this is no CSV"),
    ],
)
def test_a_line_that_is_none_is_named(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(RoleFileError, match=told):
        read_ratings(tmp_path / "r.csv")


def test_heads_may_be_in_any_order_and_case(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_bytes(b"\xef\xbb\xbfRater, Score ,SAMPLE,note\r\nx,4.5,s1,good\r\n")
    assert read_ratings(tmp_path / "r.csv") == [Rating("s1", "", "x", 4.5)]
