"""Small inputs that stand for much end in an error with a name, within bounded memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from unit.impl.bad_input.bombs import BOMBS


@pytest.mark.skipif(sys.platform != "linux", reason="how much memory a process may have is limited as Linux does it")
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_in_a_named_error_before_its_memory_is_asked_for(name, tmp_path):
    module = [sys.executable, "-m", "unit.impl.bad_input.bombs", name, str(tmp_path / "t")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(module, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    answer = json.loads(done.stdout)
    assert answer["named"], answer["error"] or "it was read"
