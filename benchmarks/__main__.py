"""Ask all questions and write docs/explanation/benchmarks.md, or print answers of some files."""

import argparse
import os
import platform
import time
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path

from benchmarks.questions import QUESTIONS, Question
from benchmarks.section import Section
from fallow import kernels

PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "benchmarks.md"
INTRODUCTION = """# Measured speed and quality

Written by `make bench`; do not edit. A ratio says how many times as fast as a named baseline
something is, so larger is faster. The two were timed in turns in one process; given are the median
of at least 5 such pairs and, in brackets, the range. Seconds are medians of 5 or more, and are of
this machine. Kernels are compiled before the clock starts, unless a row says otherwise. "Reach" is
the goal that was set beforehand. `make bench-check` looks for what became slower, with baselines
of its own (`benchmarks/pairs.py`).

"""


def machine() -> str:
    cpu = next(
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    names = ("fallow", "numpy", "numba", "pymab", "river", "mabwiser", "coba")
    packages = ", ".join(f"{name} {version(name)}" for name in names)
    return (
        f"Machine: {os.cpu_count()} cores of {cpu}, {memory:.0f} GiB, {platform.system()}, "
        f"Python {platform.python_version()}, {packages}; {date.today()}.\n\n"
    )


def ask(questions: Sequence[Question]) -> list[Section]:
    sections = []
    for question in questions:
        start = time.perf_counter()
        print(f"{question.__module__}.{question.__name__} ...", flush=True)
        sections.append(question())
        print(sections[-1].markdown(), flush=True)
        print(f"({time.perf_counter() - start:.0f} s)\n", flush=True)
    return sections


def write(sections: Sequence[Section]) -> None:
    pictures = PAGE.parent / "benchmarks"
    pictures.mkdir(exist_ok=True)
    for section in sections:
        for name, picture in section.pictures.items():
            (pictures / name).write_bytes(picture)
    text = "\n".join(section.markdown() for section in sections)
    PAGE.write_text(INTRODUCTION + machine() + text, encoding="utf-8")


def main() -> None:
    files: dict[str, list[Question]] = {}
    for question in QUESTIONS:
        files.setdefault(question.__module__.removeprefix("benchmarks."), []).append(question)
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help=f"of benchmarks/, all if none: {', '.join(files)}"
    )
    chosen = parser.parse_args().files
    for name in chosen:
        if name not in files:
            parser.error(f"FILE must be one of {', '.join(files)}, got {name!r}")
    if chosen:
        ask([question for name in chosen for question in files[name]])
    else:
        write(ask(QUESTIONS))


if __name__ == "__main__":
    kernels.compile_all()
    main()
