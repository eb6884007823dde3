"""The partial order that BanditRanker refines (paper, section 7)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class Tree:
    """A binary tree of arms: larger baselines before an arm, smaller ones after it.

    A leaf has no arm but `members`, those whose order among themselves is still open.

    Examples
    --------
    >>> tree = Tree([0, 1, 2])
    >>> tree.split(1, larger=[2], smaller=[0])
    >>> tree.groups()
    [[2], [1], [0]]
    """

    members: list[int] = field(default_factory=list)
    arm: int | None = None
    before: Tree | None = None
    after: Tree | None = None

    def split(self, arm: int, larger: Iterable[int], smaller: Iterable[int]) -> None:
        """Turn the leaf that holds an arm into a node between its larger and smaller arms."""
        if self.before is not None and self.after is not None:
            side = (
                self.before if any(arm in group for group in self.before.groups()) else self.after
            )
            side.split(arm, larger, smaller)
            return
        self.before = Tree([other for other in larger if other in self.members])
        self.after = Tree([other for other in smaller if other in self.members])
        self.arm, self.members = arm, []

    def groups(self) -> list[list[int]]:
        """Return the arms from larger to smaller; the order within a group is open."""
        if self.before is None or self.after is None or self.arm is None:
            return [self.members] if self.members else []
        return [*self.before.groups(), [self.arm], *self.after.groups()]
