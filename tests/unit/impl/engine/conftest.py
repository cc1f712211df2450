from __future__ import annotations

import pytest

from unit.impl.engine.worlds import World


@pytest.fixture
def world() -> World:
    return World()
