"""What a measurement returns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Section:
    """A question with its answer: a table and a remark on how it was measured.

    Attributes
    ----------
    title, header, rows, remark
        As they stand on the page.
    pictures
        SVG files by name.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    remark: str
    pictures: Mapping[str, bytes] = field(default_factory=dict)

    def markdown(self) -> str:
        """Return the section as it stands in docs/explanation/benchmarks.md."""
        lines = ["| " + " | ".join(row) + " |" for row in (self.header, *self.rows)]
        lines.insert(1, "|---" * len(self.header) + "|")
        links = [f"![{self.title}](benchmarks/{name})\n" for name in self.pictures]
        return "\n".join([f"## {self.title}", "", *lines, "", self.remark, "", *links])
