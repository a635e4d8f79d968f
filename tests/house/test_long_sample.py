"""The sample of the long tests that the gate runs: small, the same for a seed, and nearly all of them in ten."""

from dramaturg.workflows.names import METHODS

from long_sample import ASKED, METHODS_ASKED, SERVERS, chosen

POINTS = [f"tests/crash/test_crashes_index.py::test_every_change[{point}]" for point in range(1000)]
ASKED_OF = [f"{ASKED}::test_a_method_answers[{method}]" for method in METHODS]
SERVED = [f"{path}::test_it_is_served[{number}]" for path in SERVERS for number in range(5)]
WHOLE = [
    "tests/workflows/test_drmr_embedded.py::test_a_friend_and_an_enemy",
    f"{ASKED}::test_a_method_answers[ensemble]",
]
ALL = [*POINTS, *ASKED_OF, *SERVED, *WHOLE]
SEEDS = [f"{seed:08x}" for seed in range(10)]


def test_ten_seeds_choose_nearly_all() -> None:
    assert len(set().union(*(chosen(seed, POINTS) for seed in SEEDS))) > 850


def test_a_seed_chooses_few_and_the_same_again() -> None:
    samples = [chosen(seed, ALL) for seed in SEEDS]
    assert all(150 < len(sample & set(POINTS)) < 250 for sample in samples)
    assert all(len(sample & set(ASKED_OF)) == METHODS_ASKED for sample in samples)
    assert not any(sample & set(WHOLE) for sample in samples)
    assert samples == [chosen(seed, ALL[::-1]) for seed in SEEDS]
    assert len({frozenset(sample) for sample in samples}) == len(SEEDS)


def test_a_seed_chooses_one_file_of_those_that_start_a_server_and_all_of_it() -> None:
    samples = [sorted(chosen(seed, SERVED)) for seed in SEEDS]
    assert all(len(sample) == 5 and len({one.partition("::")[0] for one in sample}) == 1 for sample in samples)
    assert {one.partition("::")[0] for sample in samples for one in sample} == set(SERVERS)
