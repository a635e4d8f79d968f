"""What tests with real chat clients stand on."""

from collections.abc import Iterator

import pytest
from chat_clients import Stage, stage


@pytest.fixture(scope="module")
def roles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Roles that are served, and the model behind them."""
    with stage(tmp_path_factory.mktemp("stage")) as served:
        yield served
