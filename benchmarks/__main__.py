"""Run every measurement and write docs/benchmarks.md."""

import os
import platform
from datetime import date
from importlib.metadata import version
from pathlib import Path

from benchmarks import (
    exact,
    index_policy,
    quality,
    ranking_learners,
    rotation,
    simulation,
    startup,
    theory,
)

QUESTIONS = (
    exact.measure,
    index_policy.measure,
    quality.measure,
    quality.measure_larger,
    simulation.measure,
    theory.measure_stages,
    theory.measure_theorem3,
    theory.measure_theorem4,
    ranking_learners.measure,
    ranking_learners.measure_joint,
    rotation.measure,
    rotation.measure_costs,
    rotation.measure_speed,
    startup.measure,
)
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
INTRODUCTION = """# Measured speed and quality

Written by `make bench`; do not edit. Times are medians of 5 calls (the range in brackets) once the
kernels are compiled, unless a row says otherwise. "Reach" is the goal that was set beforehand.

"""


def machine() -> str:
    cpu = next(
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in ("fallow", "numpy", "numba"))
    return (
        f"Machine: {os.cpu_count()} cores of {cpu}, {memory:.0f} GiB, {platform.system()}, "
        f"Python {platform.python_version()}, {packages}; {date.today()}.\n\n"
    )


def main() -> None:
    sections = []
    for question in QUESTIONS:
        print(f"{question.__module__}.{question.__name__} ...", flush=True)
        sections.append(question().markdown())
        print(sections[-1], flush=True)
    PAGE.write_text(INTRODUCTION + machine() + "\n".join(sections), encoding="utf-8")


if __name__ == "__main__":
    main()
