"""What learners over ranking policies share."""

from collections.abc import Sequence

from fallow import checks


def checked_order(arms: int, order: Sequence[int] | None) -> tuple[int, ...]:
    """Return the arms from best to worst baseline, the caller's order if none is given."""
    checks.whole_number("arms", arms, minimum=1)
    if order is None:
        return tuple(range(arms))
    ranked = tuple(checks.whole_numbers("order", order, minimum=0))
    if sorted(ranked) != list(range(arms)):
        raise ValueError(f"order must hold each arm from 0 to {arms - 1} once, got {ranked}")
    return ranked
