"""The best block of pulls when an arm's first pull in it scores nothing."""

import numpy as np

from fallow.arrays import FloatArray, IntArray
from fallow.kernels import compiled


@compiled
def best_block(values: FloatArray, length: int, max_nodes: int) -> IntArray:
    """Return the block with the largest sum of values[arm, gap - 1] over its repeated pulls.

    A gap is the number of rounds since the arm's last pull in the block; longer gaps than the table
    has count as its last. Branch and bound: at a price per pull the arms are independent, and what
    each is worth bounds every completion. After `max_nodes` steps the best block so far is
    returned; with fewer it is the optimum.
    """
    arms = len(values)
    price, worth = _best_price(values, length)
    last = np.full(arms, -1)
    before = np.zeros(length, np.int64)  # what `last` held of the arm pulled here
    block = np.zeros(length, np.int64)
    best = np.zeros(length, np.int64)
    best_score = -np.inf
    scores = np.zeros(length + 1)
    bounds = np.zeros((length, arms))
    _bound_children(values, worth, price, last, 0, 0.0, bounds)
    place, nodes = 0, 0
    while place >= 0 and nodes < max_nodes:
        arm = int(np.argmax(bounds[place]))
        if bounds[place, arm] <= best_score + 1e-12:
            place -= 1
            if place >= 0:
                last[block[place]] = before[place]
            continue
        bounds[place, arm] = -np.inf
        nodes += 1
        block[place] = arm
        scores[place + 1] = scores[place] + _value(values, arm, last[arm], place)
        if place + 1 == length:
            best_score = scores[length]
            best[:] = block
            continue
        before[place] = last[arm]
        last[arm] = place
        place += 1
        _bound_children(values, worth, price, last, place, scores[place], bounds)
    return best


@compiled
def _value(values: FloatArray, arm: int, last: int, now: int) -> float:
    """Return what a pull scores, nothing if it is the arm's first."""
    if last < 0:
        return 0.0
    return float(values[arm, min(now - last, values.shape[1]) - 1])


@compiled
def _bound_children(
    values: FloatArray,
    worth: FloatArray,
    price: float,
    last: IntArray,
    place: int,
    score: float,
    bounds: FloatArray,
) -> None:
    """Write, for each arm that could be pulled here, a bound on the score of the whole block."""
    arms, length = len(values), bounds.shape[0]
    waiting = score + price * (length - place - 1)
    for arm in range(arms):
        waiting += worth[arm, last[arm] + 1, place + 1]
    for arm in range(arms):
        pulled = _value(values, arm, last[arm], place) + worth[arm, place + 1, place + 1]
        bounds[place, arm] = waiting + pulled - worth[arm, last[arm] + 1, place + 1]


@compiled
def _best_price(values: FloatArray, length: int) -> tuple[float, FloatArray]:
    """Return a price per pull with a small bound on all blocks, and the arms' worth at it."""
    worth = np.zeros((len(values), length + 1, length + 1))
    high = float(values.max())
    low = -high
    for _ in range(30):  # the bound is convex in the price
        third = (high - low) / 3
        if _bound(values, low + third, worth) < _bound(values, high - third, worth):
            high -= third
        else:
            low += third
    price = (low + high) / 2
    _bound(values, price, worth)
    return price, worth


@compiled
def _bound(values: FloatArray, price: float, worth: FloatArray) -> float:
    """Write what each arm is worth at a price, and return the bound on all blocks.

    worth[arm, last + 1, now] is the most that the arm can score, less the price of its pulls, from
    round `now` on, if its last pull was in round `last`, or -1 if it had none.
    """
    length = worth.shape[1] - 1
    total = price * length
    for arm in range(len(values)):
        worth[arm, :, length] = 0.0
        for now in range(length - 1, -1, -1):
            for last in range(-1, now):
                pulled = _value(values, arm, last, now) - price + worth[arm, now + 1, now + 1]
                worth[arm, last + 1, now] = max(worth[arm, last + 1, now + 1], pulled)
        total += worth[arm, 0, 0]
    return float(total)
