"""`fallow warmup`, and what a terminal is told when something is compiled."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers import command, python_path, runner

from fallow import kernels
from fallow.cli import app
from fallow.machine_code import STAMP

EVERYTHING = """
import dataclasses
import itertools
import json
from contextlib import suppress
import fallow
from fallow import kernels
from fallow.cli.warmup import all_works
from fallow.live import ConflictError, compile_ahead
from fallow.planners import HEURISTICS
from fallow.planners.feasible import StuckError
from helpers import all_kernels, reached
from learner_contract import MAKERS, INSTANCE, Spy

kernels.compile_all()
for work in all_works():
    work()
compiled = {
    f"{module}.{name}": file.compiled[name]
    for module, file in kernels.FILES.items()
    for name in file.functions
}
missed = all_kernels() - reached(name for name in compiled if compiled[name].signatures)

for instance in fallow.catalog.figure2(seed=1), fallow.Instance([[0, 5e-324], [0, 0]]):
    for planner in HEURISTICS.values():
        planner(instance)
    for each in instance, instance.with_rules(fallow.Rules(cooldowns=2)):
        fallow.plan(each)
        fallow.plan(each, max_states=0)
        fallow.upper_bound(each)
        fallow.schedule(each, 5, since=[0, 1])
        fallow.schedule(each, 20, max_states=0)
for make in MAKERS.values():
    for rewards in ("bernoulli", "none", "beta"):
        fallow.simulate(INSTANCE, make(), 3000, 1, rewards).expected_reward([1, 1000])
        fallow.simulate(INSTANCE, Spy(make()), 3000, 1, rewards, checkpoints=[1, 1000])
for size, settings in itertools.product((1, 4, 60), compile_ahead.SETTINGS):
    arms = [*compile_ahead.ARMS, *map(str, range(size))]
    now = itertools.count(step=7).__next__
    settings = dataclasses.replace(settings, arms=arms, max_delay=settings.max_delay + size)
    with fallow.Campaign.open("memory:", "c", now=now, **vars(settings)) as campaign:
        for user in "ann", "bob", "eve", "ann", "ann":
            with suppress(ConflictError):
                decision = campaign.decide(user)
        campaign.feedback(decision.id, 0.25)
        campaign.retire_arm("0")
        campaign.add_arm("anthem")
        campaign.decide("eve")
        campaign.plan()
        with suppress(ValueError):
            fallow.logs.rest_matters(campaign.log())
anew = [name for name in compiled if compiled[name].stats.cache_misses]
print(json.dumps([sorted(missed), anew]))
"""


@pytest.mark.slow
def test_after_warmup_nothing_is_compiled(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": python_path(),
    }

    def run(*words: str) -> str:
        done = subprocess.run(
            words, env=environment, check=False, capture_output=True, text=True, timeout=300
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    first, second = (run(*command("warmup")) for _ in range(2))
    files = list(tmp_path.rglob("*.nb[ci]"))
    size = sum(file.stat().st_size for file in files)
    assert first == second == f"{len(files)} files, {size / 1e6:.1f} MB, in {files[0].parent}\n"
    assert (files[0].parent / STAMP).exists()
    without_a_call, compiled_anew = json.loads(run(sys.executable, "-c", EVERYTHING))
    assert without_a_call == []
    assert compiled_anew == []


def test_warmup_needs_a_place_for_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = SimpleNamespace(stats=SimpleNamespace(cache_path=None))
    for file in kernels.FILES.values():
        monkeypatch.setattr(file, "_dispatchers", dict.fromkeys(file.functions, nowhere))
        monkeypatch.setattr(file, "is_compiled", file.is_compiled)  # to be as before
    result = runner.invoke(app, ["warmup"])
    assert result.exit_code == 2
    assert result.stderr == (
        "fallow: no folder for machine code can be written to; set NUMBA_CACHE_DIR to one\n"
    )


BEAM = "import fallow; fallow.planners.beam(fallow.catalog.figure2())"


@pytest.mark.slow
def test_a_terminal_is_told_once_that_it_compiles(tmp_path: Path) -> None:
    told = []
    for _ in range(2):
        reader, writer = pty.openpty()
        subprocess.run(
            [sys.executable, "-c", BEAM],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "TERM": "dumb"},
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=writer,
            timeout=300,
        )
        os.write(writer, b"the end")
        told.append(os.read(reader, 10_000).decode())
    assert told[0].count("fallow: compiling, once for this machine: up to a minute; ") == 1
    assert "compiling" not in told[1]
