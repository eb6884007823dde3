"""Files of instances, most of them wrong."""

import tomllib
from pathlib import Path
from random import Random

from fallow import Instance
from fallow.planners import ghost, greedy
from fuzzing.documents import broken

FILES = (
    "means = [[0.1, 0.5, 0.9], [0.2, 0.2, 0.3]]\nnames = ['song', 'news']\n",
    "means = [[0.5]]\n",
    "baselines = [1, 0.5, 0.2]\ndelays = [2, 1, 3]\ndecay = [0.5, 0.25, 0.1]\n",
    "baselines = [1, 0.5]\ndelays = [2, 1]\ndecay = {geometric = 0.9}\nnames = ['a', 'b']\n",
    "baselines = [1, 0.5]\ndelays = [2, 1]\ndecay = [{power = 1.5}, [0.5]]\n",
    "baselines = [1.0]\ndelays = [4]\ndecay = {constant = 1}\n",
    "means = [[0.5, 0.9], [0.4, 0.8], [0.1, 0.1]]\nnames = ['a', 'b', 'c']\n[rules]\n"
    "cooldowns = {a = 3}\nat_most = [{arms = ['a', 'b'], pulls = 2, rounds = 4}]\n"
    "groups = {g = ['a', 'b']}\nat_least_once = {c = 5}\nexclude = []\n",
    "means = [[0.5, 0.9], [0.4, 0.8]]\n[rules]\ncooldowns = 2\n",
)
SMALL = 64
"""Values of means up to which an instance is planned."""


def case(generator: Random, folder: Path) -> str:
    """Read one file; if that succeeds, write it, read it back, and plan it if it is small."""
    text = generator.choice(FILES)
    path = folder / "instance.toml"
    path.write_bytes(broken(tomllib.loads(text), text, generator))
    try:
        instance = Instance.load(path)
    except (ValueError, OSError):
        return "refused"
    if instance.means.size <= SMALL:
        instance.save(path)
        assert Instance.load(path) == instance
        for planner in (ghost, greedy):
            try:
                assert 0 <= planner(instance).certificate <= 1
            except ValueError:
                assert instance.rules  # which may leave no plan
    return "read"
