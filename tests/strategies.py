"""Random instances for property tests."""

import numpy as np
from hypothesis import strategies as st

from fallow import Instance, decay
from fallow.decay import Decay

shares = st.floats(0, 1)


@st.composite
def decays(draw: st.DrawFn, length: int) -> Decay:
    """A decay of any family."""
    values = draw(st.lists(shares, min_size=length, max_size=length))
    families = [
        decay.geometric(draw(shares)),
        decay.constant(draw(shares)),
        decay.power(draw(st.floats(0, 5))),
        decay.table(sorted(values, reverse=True)),
    ]
    return draw(st.sampled_from(families))


@st.composite
def b2dep_instances(draw: st.DrawFn, max_arms: int = 4, max_delay: int = 4) -> Instance:
    """An instance of the paper's model."""
    arms = draw(st.integers(1, max_arms))
    baselines = draw(st.lists(shares, min_size=arms, max_size=arms))
    delays = draw(st.lists(st.integers(1, max_delay), min_size=arms, max_size=arms))
    return Instance.b2dep(baselines, delays, draw(decays(length=max_delay)))


@st.composite
def tables(draw: st.DrawFn, max_arms: int = 4, max_delay: int = 4) -> Instance:
    """An instance with any means, falling ones included."""
    arms = draw(st.integers(1, max_arms))
    width = draw(st.integers(1, max_delay + 1))
    row = st.lists(shares, min_size=width, max_size=width)
    return Instance(draw(st.lists(row, min_size=arms, max_size=arms)))


@st.composite
def coarse_tables(draw: st.DrawFn, max_arms: int = 4, max_delay: int = 3) -> Instance:
    """An instance with so few different means that many are equal."""
    arms = draw(st.integers(1, max_arms))
    width = draw(st.integers(1, max_delay + 1))
    row = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=width, max_size=width)
    return Instance(draw(st.lists(row, min_size=arms, max_size=arms)))


@st.composite
def generic_instances(draw: st.DrawFn, max_arms: int = 5, max_delay: int = 5) -> Instance:
    """An instance of the paper's model in which no two means are equal by accident."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    arms = draw(st.integers(1, max_arms))
    delays = generator.integers(1, max_delay + 1, arms)
    values = np.sort(generator.random(max_delay))[::-1].tolist()
    return Instance.b2dep(generator.random(arms), delays, values)


instances = st.one_of(b2dep_instances(), tables(), generic_instances())
tiny_instances = st.one_of(b2dep_instances(3, 4), tables(3, 4), generic_instances(4, 3))
"""Few enough delay vectors for Karp's algorithm in plain loops."""
