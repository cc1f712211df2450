"""TLC and the Python explorer agree on every model of ``tla/manifest.toml``: verdicts and numbers of states."""

from __future__ import annotations

import hashlib
import importlib.metadata
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from drawstring_model.config import CLUSTERED, COPY_ON_WRITE, MERGE_ON_READ, Bounds, ConcurrencyControl, Config
from drawstring_model.core.protocol import protocol_of
from drawstring_model.explorer import explore
from drawstring_model.invariants import Promise
from drawstring_model.modules.clustering import Clustering, UpdateStrategy

TLA = Path(__file__).parents[3] / "tla"
MANIFEST = tomllib.loads((TLA / "manifest.toml").read_text(encoding="utf-8"))
MODELS = MANIFEST["models"]
OF_MERGE_ON_READ = {
    "LatestSnapshot": Promise.LATEST_SNAPSHOT,
    "NoResurrectedDelete": Promise.NO_RESURRECTED_DELETE,
    "PlannedFilesStay": Promise.PLANNED_FILES_STAY,
}
OF_COPY_ON_WRITE = {
    "ConsistentRead": Promise.CONSISTENT_READ,
    "NoLostUpdate": Promise.NO_LOST_UPDATE,
    "NoDuplicateKeys": Promise.NO_DUPLICATE_KEYS,
    "CompletedWritesStay": Promise.NO_UNDONE_WRITE,
    "LiveWritersAreLetBe": Promise.LIVE_WRITER_KEPT,
    "LegalTransitions": Promise.LEGAL_TRANSITIONS,
}
OF_CLUSTERING = {"ClusteringKeepsRows": Promise.CLUSTERING_KEEPS_ROWS}
PROMISES = {
    "CopyOnWrite": OF_COPY_ON_WRITE,
    "MergeOnRead": OF_COPY_ON_WRITE | OF_MERGE_ON_READ,
    "Clustering": OF_COPY_ON_WRITE | OF_CLUSTERING,
}
NAMES = {name: promise for names in PROMISES.values() for name, promise in names.items()}
MODULES = {
    "CopyOnWrite": COPY_ON_WRITE,
    "MergeOnRead": MERGE_ON_READ,
    "Clustering": CLUSTERED,
}
# What a model's own constants are in Python: modules with other switches.
VARIANTS = {
    "clustering_gives_way": (*COPY_ON_WRITE, Clustering(update=UpdateStrategy.ALLOW)),
    "clustering_hides_the_past": (*COPY_ON_WRITE, Clustering(hides_the_past=True)),
}


def module_of(model):
    return model.get("module", "CopyOnWrite")


def promised(model):
    """The names of the promises that the model is expected to keep."""
    return [name for name in PROMISES[module_of(model)] if name not in model.get("but", ())]


def config_of(model):
    workload = tuple(tuple((key, written) for key, written in operation) for operation in model["workload"])
    bounds = Bounds(
        workload=workload,
        groups=model["groups"],
        crashes=model["crashes"],
        heartbeat_expiries=model["heartbeat_expiries"],
        lock_expiries=model["lock_expiries"],
        faults=model["faults"],
        renewals=model["renewals"],
    )
    name = next(name for name, each in MODELS.items() if each is model)
    return Config(
        concurrency=ConcurrencyControl(model["concurrency"]),
        key_check=model["key_check"],
        modules=VARIANTS.get(name, MODULES[module_of(model)]),
        bounds=bounds,
    )


def tla(value):
    return {True: "TRUE", False: "FALSE"}[value] if isinstance(value, bool) else str(value)


def checker():
    """The TLC jar of the development environment, or a skip that says what is missing."""
    if shutil.which("java") is None:
        pytest.skip("TLC needs Java, and there is none")
    jar = MANIFEST["jar"]
    try:
        files = importlib.metadata.files(jar["distribution"]) or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"the package {jar['distribution']} that carries TLC is not installed")
    path = next(Path(file.locate()) for file in files if file.name == jar["file"])
    assert hashlib.sha256(path.read_bytes()).hexdigest() == jar["sha256"]
    return path


def run_tlc(folder, model, invariants):
    for module in MODULES:
        shutil.copy(TLA / f"{module}.tla", folder)
    operations = ", ".join(
        "{" + ", ".join(f"<<{key}, {tla(written)}>>" for key, written in operation) + "}"
        for operation in model["workload"]
    )
    (folder / "MC.tla").write_text(
        f"---- MODULE MC ----\nEXTENDS {module_of(model)}\nMCWorkload == <<{operations}>>\n====\n", encoding="utf-8"
    )
    constants = {
        "Writers": 2,
        "Groups": model["groups"],
        "Optimistic": model["concurrency"] == "OPTIMISTIC",
        "KeyCheck": model["key_check"],
        "MaxCrashes": model["crashes"],
        "MaxHeartbeatExpiries": model["heartbeat_expiries"],
        "MaxLockExpiries": model["lock_expiries"],
        "MaxFaults": model["faults"],
        "FaultsUntil": 3,
        "MaxRenewals": model["renewals"],
    }
    module = MANIFEST["modules"].get(module_of(model), {})
    constants |= module.get("constants", {}) | model.get("constants", {})
    lines = [f"SPECIFICATION {module.get('specification', 'Spec')}", "CONSTANT Workload <- MCWorkload"]
    lines += [f"CONSTANT {name} <- {other}" for name, other in module.get("in_place_of", {}).items()]
    lines += [f"CONSTANT {name} = {tla(value)}" for name, value in constants.items()]
    lines += [f"INVARIANT {name}" for name in invariants]
    (folder / "MC.cfg").write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [
        "java",
        "-XX:+UseParallelGC",
        "-Xmx1g",
        "-cp",
        str(checker()),
        "tlc2.TLC",
        "-deadlock",
        "-workers",
        "1",
        "MC",
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False).stdout


def distinct_states(output):
    return int(re.findall(r"([\d,]+) distinct states found", output)[-1].replace(",", ""))


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_tlc_counts_the_states_that_the_explorer_counts(name, tmp_path):
    model = MODELS[name]
    passes = model["expected"] == "pass"

    output = run_tlc(tmp_path, model, promised(model) if passes else ())

    assert "Model checking completed. No error has been found." in output, output[-3000:]
    assert distinct_states(output) == model["distinct_states"] == explore(config_of(model)).states


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model["expected"] != "pass"])
def test_tlc_finds_the_violation_that_the_explorer_finds_at_the_same_depth(name, tmp_path):
    model = MODELS[name]
    expected = model["expected"]

    output = run_tlc(tmp_path, model, [expected])

    assert f"Invariant {expected} is violated." in output, output[-3000:]
    example = explore(config_of(model)).counterexamples[NAMES[expected]]
    assert len(re.findall(r"^State \d+:", output, re.MULTILINE)) == len(example.moves) + 1


@pytest.mark.parametrize("name", MODELS)
def test_the_explorer_gives_each_model_its_expected_verdict(name):
    expected = MODELS[name]["expected"]

    broken = set(explore(config_of(MODELS[name])).counterexamples)

    kept = {NAMES[promise] for promise in promised(MODELS[name])}
    assert (NAMES[expected] in broken) if expected != "pass" else not broken & kept


@pytest.mark.parametrize("module", MODULES)
def test_the_module_has_every_step_under_its_name_and_in_its_order(module):
    text = (TLA / f"{module}.tla").read_text(encoding="utf-8")
    defined = re.findall(r"^([A-Z]\w+)(?:\(w\))? ==", text, re.MULTILINE)
    all_steps = [step.value for step in protocol_of(Config(modules=MODULES[module])).rules]
    inherited = [step.value for step in protocol_of(Config()).rules] if module != "CopyOnWrite" else []
    steps = [step for step in all_steps if step not in inherited]

    assert [name for name in defined if name in steps] == steps
