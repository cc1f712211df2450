"""The page of the models that TLC checks, made from ``tla/manifest.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MANIFEST = Path(__file__).resolve().parent.parent / "tla" / "manifest.toml"
COMMANDS = {"small": "make test", "medium": "make tla", "large": "make tla-large"}
FAULTS = {
    "crashes": ("crash", "crashes"),
    "heartbeat_expiries": ("heartbeat expires", "heartbeats expire"),
    "lock_expiries": ("lease expires", "leases expire"),
    "renewals": ("heartbeat comes back", "heartbeats come back"),
}
_HEAD = """\
# The models that TLC checks

Made from `tla/manifest.toml`. Each model is a TLA+ module with its constants, and the same configuration of the Python
model; both take actions of the same names. For each, TLC (one worker, no symmetry, no view) and the explorer count the
same distinct states, agree on the verdict and, where a promise breaks, on the length of its shortest history. *Seconds*
are TLC's, with the start of Java, on two processors that were shared; the number is for planning, nothing asserts it.
`make tla` runs what `make test` runs, too.

Writers are always two, and nothing is made to look alike, so the bounds are the operations, the file groups and the
faults. In an operation `k1` sets a key, `-k1` deletes it.
"""


def render_models() -> str:
    """The page: a table, then what each model is about and why its bounds are enough."""
    models = tomllib.loads(MANIFEST.read_text(encoding="utf-8"))["models"]
    total = sum(model["distinct_states"] for model in models.values())
    lines = [_HEAD, f"{len(models)} models, {total:,} distinct states.", ""]
    lines += ["| model | module | expected | distinct states | seconds | run by |", "|---|---|---|--:|--:|---|"]
    for name, model in models.items():
        cells = [f"[{name}](#{name})", model.get("module", "CopyOnWrite"), _expected(model)]
        cells += [f"{model['distinct_states']:,}", str(model.get("run_time_s", "")), _command(model)]
        lines.append(f"| {' | '.join(cells)} |")
    for name, model in models.items():
        lines += ["", f"## {name}", "", model["about"], "", f"Bounds: {_bounds(model)}. {model['reason']}"]
        if constants := model.get("constants"):
            told = ", ".join(f"`{key} = {value}`" for key, value in constants.items())
            lines += ["", f"Constants of its own: {told}."]
        if left_out := model.get("but"):
            lines += ["", f"Not expected to be kept, and the subject of another model: {', '.join(left_out)}."]
    return "\n".join(lines) + "\n"


def _expected(model: Mapping[str, Any]) -> str:
    return "all kept" if model["expected"] == "pass" else f"**{model['expected']}** breaks"


def _command(model: Mapping[str, Any]) -> str:
    return f"`{COMMANDS[model.get('size', 'small')]}`"


def _bounds(model: Mapping[str, Any]) -> str:
    """The operations, file groups and faults, in words."""
    operations = ["+".join(("" if written else "-") + f"k{key}" for key, written in each) for each in model["workload"]]
    parts = [f"{model['concurrency'].lower().replace('_', ' ')} control", f"operations `{'`, `'.join(operations)}`"]
    parts.append(f"{model['groups']} file group{'s' * (model['groups'] > 1)}")
    faults = [f"{model[key]} {words[model[key] > 1]}" for key, words in FAULTS.items() if model[key]]
    if faults:
        parts.append(f"at most {model['faults']} fault{'s' * (model['faults'] > 1)} ({', '.join(faults)} at most)")
    return "; ".join([*parts] if faults else [*parts, "no faults"])
