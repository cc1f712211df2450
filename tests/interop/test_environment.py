"""Setting Java Hudi up says whether it is ready, not to be had, or broken. Needs neither Java nor a network."""

from __future__ import annotations

import subprocess

import pytest

from interop.java import environment


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Nothing is set up yet, and every command that would fetch something is recorded instead of run."""
    java = tmp_path / "java"
    java.touch()
    commands = []

    def run(command, **_options):
        commands.append(command)
        return subprocess.CompletedProcess(command, run.status, stdout="no route to host")

    run.status = 0
    monkeypatch.setattr(environment, "VENV", tmp_path / "venv")
    monkeypatch.setattr(environment, "FOLDER", tmp_path / "hudi")
    monkeypatch.setattr(environment, "_find_java", lambda: java)
    monkeypatch.setattr(environment.venv, "create", lambda folder, **_options: None)
    monkeypatch.setattr(environment.subprocess, "run", run)
    return run, commands


def put_bundle(monkeypatch) -> None:
    environment.FOLDER.mkdir(exist_ok=True)
    bundle = environment._bundle_path()
    bundle.write_bytes(b"a bundle")
    monkeypatch.setattr(environment, "BUNDLE_SHA256", environment._sha256(bundle))


def test_without_java_the_answer_is_not_to_be_had(elsewhere, monkeypatch, capsys):
    monkeypatch.setattr(environment, "_find_java", lambda: None)
    assert environment.main() == environment.UNAVAILABLE
    assert "JAVA_HOME" in capsys.readouterr().err


def test_without_a_network_the_answer_is_not_to_be_had(elsewhere, capsys):
    run, _ = elsewhere
    run.status = 1
    assert environment.main() == environment.UNAVAILABLE
    assert "no route to host" in capsys.readouterr().err


def test_a_resolver_that_fetches_nothing_is_broken(elsewhere, capsys):
    assert environment.main() == environment.BROKEN
    assert "FAILED" in capsys.readouterr().err


def test_a_bundle_with_another_checksum_is_not_taken(elsewhere, monkeypatch):
    put_bundle(monkeypatch)
    environment._bundle_path().write_bytes(b"something else")
    assert environment.main() == environment.BROKEN


def test_a_second_set_up_runs_nothing(elsewhere, monkeypatch):
    _, commands = elsewhere
    put_bundle(monkeypatch)
    python = environment.VENV / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    assert environment.main() == environment.READY
    commands.clear()
    assert environment.main() == environment.READY
    assert commands == []


def test_changed_requirements_are_installed_again(elsewhere, monkeypatch):
    put_bundle(monkeypatch)
    (environment.VENV / "bin").mkdir(parents=True)
    (environment.VENV / "bin" / "python").touch()
    environment.main()
    monkeypatch.setattr(environment, "REQUIREMENTS", ("pyspark==3.5.3",))
    assert environment.find_environment() is None
