"""The sample of the long tests that the gate runs: a seed chooses it, so that nearly all have run after ten commits.

Of most tests a fifth is chosen: kill points, mutations, examples of properties, whole runs. Tests that a whole model
or a whole server is started for are chosen together: of all methods with the embedded models two, and of the files
whose tests start a LangGraph server one, with all its tests. Whole papers with the embedded model, and five methods in
one, take up to ten minutes each, and are left to `make test-long`; so are the few with snapshots, for syrupy goes by
the beginnings of names, and would say of a test that was not chosen that nobody uses its snapshot: delete it.
"""

import random
from collections.abc import Collection

import pytest

SHARE = 1 / 5
METHODS_ASKED = 2
ASKED = "tests/cli/test_methods_embedded.py"
SERVERS = (
    "tests/examples/test_flows_served.py",
    "tests/house/test_open_settings_served.py",
    "tests/house/test_server.py",
    "tests/house/test_server_clients.py",
)


def chosen(seed: str, ids: Collection[str]) -> set[str]:
    """The ids of the tests that are in the sample of a seed."""
    drawn = {one: random.Random(f"{seed} {one}").random() for one in (*ids, *SERVERS)}
    asked, served, others = set[str](), set[str](), set[str]()
    server = min(SERVERS, key=lambda path: drawn[path])
    for one in ids:
        path = one.partition("::")[0]
        if path == ASKED:
            asked |= set() if one.endswith("[ensemble]") else {one}
        elif path in SERVERS:
            served |= {one} if path == server else set()
        elif not path.endswith("_embedded.py") and drawn[one] < SHARE:
            others.add(one)
    return {*sorted(asked, key=lambda one: drawn[one])[:METHODS_ASKED], *served, *others}


class LongSample:
    """The part of pytest that leaves the sample of a seed, after other parts have left what is asked for by markers."""

    def __init__(self, seed: str) -> None:
        self.seed = seed

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept = chosen(self.seed, [one.nodeid for one in items if "snapshot" not in getattr(one, "fixturenames", ())])
        config.hook.pytest_deselected(items=[one for one in items if one.nodeid not in kept])
        items[:] = [one for one in items if one.nodeid in kept]
