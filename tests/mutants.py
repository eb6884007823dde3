"""Tests with teeth: change the source in one place at a time, and see whether a test notices.

A mutant is the package with one small change. It is killed if a fast test of its area fails, and
survives if all of them pass. `mutants.toml` says which tests belong to which file, which mutants
are tried in every run, and which survivors no test can tell from the original.

    python tests/mutants.py --count 300 --seed 13 --workers 2
"""

import argparse
import ast
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "fallow"
PLAN = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text(encoding="utf-8"))
EQUIVALENT = {(each["file"], each["before"], each["after"]) for each in PLAN["equivalent"]}
PROCESSOR_SECONDS = 120
"""After which a mutant counts as hanging; the slowest area needs about half of it."""
MEMORY = 8 * 2**30


def both_ways(pairs: str) -> dict[str, str]:
    """Return what is changed into what."""
    split = [pair.split() for pair in pairs.split(", ")]
    return {word: pair[1 - place] for pair in split for place, word in enumerate(pair)}


OPERATORS = both_ways("Lt LtE, Gt GtE, Eq NotEq, Is IsNot, In NotIn, Add Sub, Mult Div, And Or") | {
    "FloorDiv": "Mult",
    "Mod": "FloorDiv",
    "Pow": "Mult",
}
FUNCTIONS = both_ways("min max, minimum maximum, argmin argmax, ceil floor, any all")
SKIPPED = re.compile(r"__all__ |if TYPE_CHECKING|log\.|\w+Array = ")
"""Statements in which a change would show nothing, or is no change of the program."""


@dataclass(frozen=True)
class Mutant:
    """A file of the package with one change, told by the lines that it changes."""

    file: str
    line: int
    before: str
    after: str
    source: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is called in `mutants.toml`, where line numbers would not last."""
        return self.file, self.before, self.after


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: the test that failed, "hang" or "crash"; none if it survived."""

    mutant: Mutant
    killer: str | None


def other(operator: ast.AST) -> Any:
    """Return the operator that takes the place of one."""
    return getattr(ast, OPERATORS[type(operator).__name__])()


def changes(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Return what is tried at a node: a part of it, and what comes in its place."""
    match node:
        case ast.Compare():
            for place, operator in enumerate(node.ops):
                comparison = deepcopy(node)
                comparison.ops[place] = other(operator)
                yield node, comparison
        case ast.BinOp() | ast.BoolOp() | ast.AugAssign() if type(node.op).__name__ in OPERATORS:
            changed = deepcopy(node)
            changed.op = other(node.op)
            yield node, changed
            if isinstance(node, ast.AugAssign):
                yield node, ast.Pass()
        case ast.Break():
            yield node, ast.Continue()
        case ast.Continue():
            yield node, ast.Break()
        case ast.Constant(value=bool() as value):
            yield node, ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield node, ast.Constant(value + 1)
        case ast.Constant(value=float() as value):
            yield node, ast.Constant(value * 2 or 1.0)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node, node.operand
        case ast.If(test=ast.Name() | ast.Attribute() | ast.Call() as test):
            yield test, ast.UnaryOp(ast.Not(), test)
        case ast.IfExp():
            yield node, ast.IfExp(node.test, node.orelse, node.body)
        case ast.Call(func=ast.Name(name) | ast.Attribute(attr=name) as function):
            if name in FUNCTIONS:
                text = ast.unparse(function).removesuffix(name) + FUNCTIONS[name]
                yield function, ast.parse(text, mode="eval").body
            elif len(node.args) > 1:
                first, second, *others = node.args
                yield node, ast.Call(function, [second, first, *others], node.keywords)
        case ast.Subscript(slice=ast.Name() | ast.Attribute() as index):
            yield index, ast.BinOp(index, ast.Sub(), ast.Constant(1))
        case ast.Return(value=ast.expr()):
            yield node, ast.Return(None)
        case ast.Expr(value=ast.Call()) | ast.Raise():
            yield node, ast.Pass()
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield node, ast.Pass()


def nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Return a node and all below it, but no annotations, messages of errors, or other text."""
    yield node
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if name in {"annotation", "returns", "decorator_list", "exc"}:
                continue
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr):
                continue
            if isinstance(child, ast.stmt) and SKIPPED.match(ast.unparse(child)):
                continue
            yield from nodes(child)


def mutants_of(file: str) -> Iterator[Mutant]:
    """Return every mutant of a file."""
    source = (PACKAGE / file).read_text(encoding="utf-8")
    lines = source.splitlines(keepends=True)
    for node in nodes(ast.parse(source)):
        for old, new in changes(node):
            assert isinstance(old, ast.expr | ast.stmt)
            assert old.end_lineno is not None
            text = ast.unparse(new)
            if isinstance(new, ast.BinOp | ast.BoolOp | ast.Compare | ast.UnaryOp | ast.IfExp):
                text = f"({text})"
            first, last = old.lineno - 1, old.end_lineno - 1
            start = lines[first].encode()[: old.col_offset].decode()
            end = lines[last].encode()[old.end_col_offset :].decode()
            before = " ".join(line.strip() for line in lines[first : last + 1])
            after = (start + text + end).strip()
            if " " not in before:  # such as break, which alone says little
                before, after = (f"{lines[first - 1].strip()} {each}" for each in (before, after))
            changed = "".join([*lines[:first], start + text + end, *lines[last + 1 :]])
            yield Mutant(file, old.lineno, before, after, changed)


def named_mutants() -> Iterator[Mutant]:
    """Return the mutants that are tried in every run."""
    for each in PLAN["named"]:
        source = (PACKAGE / each["file"]).read_text(encoding="utf-8")
        assert source.count(each["before"]) == 1, f"named mutant not found once: {each}"
        line = source[: source.index(each["before"])].count("\n") + 1
        changed = source.replace(each["before"], each["after"])
        yield Mutant(each["file"], line, each["before"], each["after"], changed)


def sample(mutants: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """Return one mutant of each of `count` stretches of equal length: files by their share."""
    random = Random(seed)
    step = max(len(mutants) / max(count, 1), 1.0)
    stretches = range(min(count, len(mutants)))
    return [mutants[int((stretch + random.random()) * step)] for stretch in stretches]


def tests_of(file: str) -> list[str]:
    """Return the test files of a source file, most direct ones first."""
    areas: dict[str, list[str]] = PLAN["areas"]
    return [f"tests/{test}" for test in areas.get(file) or areas[file.partition("/")[0]]]


def run_tests(folder: Path, tests: list[str], seconds: int = PROCESSOR_SECONDS) -> str | None:
    """Return the first fast test that fails with the package in a folder; none if all pass."""
    words = ["-x", "-q", "--tb=no", "--rootdir=.", "--config-file=pyproject.toml"]
    words += ["-p", "no:cacheprovider", "-m", "not slow", "--hypothesis-profile=mutants"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *words, *tests],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}",
            "NUMBA_BOUNDSCHECK": "1",
            "OMP_NUM_THREADS": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    resource.prlimit(process.pid, resource.RLIMIT_CPU, (seconds, seconds))
    resource.prlimit(process.pid, resource.RLIMIT_AS, (MEMORY, MEMORY))
    output, _ = process.communicate()
    if process.returncode == 0:
        return None
    if process.returncode < 0:
        return "hang" if -process.returncode in (signal.SIGKILL, signal.SIGXCPU) else "crash"
    found = re.search(r"^(?:FAILED|ERROR) (?:tests/)?(.*?)(?: - |$)", output, re.MULTILINE)
    return found[1] if found else output.strip().rpartition("\n")[2]


def judge(original: Path, mutant: Mutant) -> Verdict:
    """Run the tests of a mutant's area on a copy of the package, machine code included."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "fallow"
        shutil.copytree(original / "fallow", copy)
        (copy / mutant.file).write_text(mutant.source, encoding="utf-8")
        tests = [*tests_of(mutant.file), str(copy / mutant.file)]  # and its examples
        verdict = Verdict(mutant, run_tests(Path(folder), tests))
    fate = f"killed by {verdict.killer}" if verdict.killer else "SURVIVED"
    print(f"{mutant.file}:{mutant.line}: {mutant.before} -> {mutant.after}: {fate}", flush=True)
    return verdict


def table(verdicts: list[Verdict]) -> str:
    """Return the score by package, of all mutants and of those not listed as equivalent."""
    packages = [verdict.mutant.file.partition("/")[0].removesuffix(".py") for verdict in verdicts]
    rows = ["| Package | Mutants | Killed | Equivalent | Survived | Killed of all, of others |"]
    rows.append("|---|---|---|---|---|---|")
    for package in [*dict.fromkeys(packages), "all"]:
        chosen = [v for v, own in zip(verdicts, packages, strict=True) if package in (own, "all")]
        alive = [verdict.mutant for verdict in chosen if verdict.killer is None]
        same = sum(mutant.key in EQUIVALENT for mutant in alive)
        killed, left = len(chosen) - len(alive), len(alive) - same
        score = f"{killed / max(len(chosen), 1):.1%}, {killed / max(killed + left, 1):.1%}"
        rows.append(f"| {package} | {len(chosen)} | {killed} | {same} | {left} | {score} |")
    return "\n".join(rows)


def main() -> None:
    """Judge a sample of mutants, and all those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="mutants to sample")
    parser.add_argument("--seed", type=int, default=13, help="of the sample")
    parser.add_argument("--workers", type=int, default=2, help="mutants judged at once")
    parser.add_argument("--only", default="", help="files whose path starts so, as planners/beam")
    options = parser.parse_args()
    paths = [path.relative_to(PACKAGE).as_posix() for path in sorted(PACKAGE.rglob("*.py"))]
    areas = {area.partition("/")[0] for area in PLAN["areas"]}
    files = [f for f in paths if f.partition("/")[0] in areas and f.startswith(options.only)]
    every = [mutant for file in files for mutant in mutants_of(file)]
    gone = EQUIVALENT - {mutant.key for file in paths for mutant in mutants_of(file)}
    for file, before, after in gone:
        print(f"no longer there: {file}: {before} -> {after}")
    named = [mutant for mutant in named_mutants() if mutant.file.startswith(options.only)]
    chosen = sample(every, options.count, options.seed)
    with tempfile.TemporaryDirectory() as folder:
        original = Path(folder)
        shutil.copytree(PACKAGE, original / "fallow", ignore=shutil.ignore_patterns("__pycache__"))
        # The tests must pass without a change; this also compiles all kernels, with checked bounds.
        tests = dict.fromkeys(test for file in files for test in tests_of(file))
        failed = run_tests(original, list(tests), seconds=10 * PROCESSOR_SECONDS)
        if failed is not None:
            sys.exit(f"mutants: tests must pass on the package as it is, got {failed}")
        with ThreadPoolExecutor(options.workers) as pool:
            verdicts = list(pool.map(partial(judge, original), [*named, *chosen]))
    print(table(verdicts[len(named) :]))
    alive = [verdict.mutant for verdict in verdicts[: len(named)] if verdict.killer is None]
    if alive:
        sys.exit(f"mutants: named ones must be killed, got {len(alive)} alive")


if __name__ == "__main__":
    main()
