"""Saved states of all learners."""

import json
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

from learner_contract import INSTANCE, MAKERS, through_json

from fallow import Block, Outcome, simulate
from fallow.learners import load
from fuzzing import hostile

ROUNDS = 60
"""That a learner plays which was read."""


@lru_cache
def states() -> list[dict[str, Any]]:
    """Return states of all learners at several moments, also with a block pending."""
    found = []
    for make in MAKERS.values():
        learner = make()
        found.append(learner.state())
        for seed, rounds in enumerate((1, 7, 150, 2500)):
            simulate(INSTANCE, learner, rounds, seed=seed)
            found.append(through_json(learner.state()))
            learner.ask()
            found.append(through_json(learner.state()))
    return found


def case(generator: Random, _: Path) -> str:
    """Change a state, read it, and play on if it was read."""
    state = generator.choice(states())
    if generator.random() < 0.2:
        text = hostile.change_bytes(json.dumps(state).encode(), generator)
        try:
            changed = json.loads(text)
        except (ValueError, RecursionError):  # no state at all
            return "refused"
    else:
        part = generator.choice(("progress", "progress", "progress", "parameters", "all"))
        donors = (generator.choice(states()), state)
        changed = (
            hostile.change(state, generator, donors)
            if part == "all" or not state[part]
            else {**state, part: hostile.change(state[part], generator, donors)}
        )
    try:
        learner: Any = load(changed)
    except ValueError:
        return "refused"
    if is_small(learner):
        play(learner, generator)
    return "read"


def is_small(learner: Any) -> bool:
    """Tell whether a learner is for a problem that is planned at once."""
    parameters = {**learner.parameters(), **getattr(learner, "options", {})}
    sizes = ("arms", "max_delay", "block", "first_horizon", "horizon", "window", "budget")
    return all((parameters.get(name) or 0) <= 10**6 for name in sizes) and all(
        (parameters.get(name) or 0) <= 64 for name in ("arms", "max_delay", "block")
    )


def play(learner: Any, generator: Random) -> None:
    """Ask and tell, save, and play by the compiled loop."""
    arms = getattr(learner, "arms", None)
    for _ in range(10):
        block: Block = learner.ask()
        assert block.plays >= 1, block
        assert block.arms, block
        assert all(type(arm) is int and arm >= 0 for arm in block.arms), block
        assert arms is None or max(block.arms) < arms, block
        first = [float(generator.random() < 0.5) for _ in block.arms]
        rest = [float(generator.randint(0, block.plays - 1)) for _ in block.arms]
        learner.tell(block, Outcome(first, rest))
    if arms == INSTANCE.arms:
        simulate(INSTANCE, learner, ROUNDS, seed=0)
    through_json(learner.state())
