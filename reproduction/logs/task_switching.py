"""The page on a log whose arms were drawn at random: three tasks, and what switching costs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars

from fallow import Log
from fallow.drawing.figures import image
from fallow.logs import Fit, Verdict, fit, plan_and_value, rest_matters, value
from reproduction.logs.history import by_cells, by_history
from reproduction.logs.page import WRITTEN, Page, read_parquet, signed, size_of
from reproduction.text import markdown_table

FILE = Path("random_delay_tasks", "task_switching_threebytwo.parquet")
COHORT = "retest"
"""The others are called failed and incomplete."""
MAX_DELAY = 6
BLOCKS = np.repeat([0, 1, 2], 4)
ROUND_ROBIN = np.array([0, 1, 2])
HISTORY = 6
"""Most rounds of history that some plays share at each position of both cycles."""


def read(folder: Path) -> Log:
    """Return the log of one cohort."""
    rows = read_parquet(folder / FILE).filter(polars.col("cohort") == COHORT)
    return Log(
        user=rows["user"].to_numpy(),
        time=rows["trial"].to_numpy(),
        arm=rows["task"].to_numpy(),
        reward=rows["correct"].to_numpy(),
        random=True,
        max_delay=MAX_DELAY,
    )


def page(log: Log) -> Page:
    """Return what the log says."""
    verdict, found = rest_matters(log), fit(log)
    best = plan_and_value(log)
    assert best.plan is not None
    text = TEXT.format(
        written=WRITTEN,
        size=size_of(log),
        cohort=COHORT,
        unknown=log.counts.unknown,
        verdict=verdict,
        by_arm="\n".join(_by_arm(verdict)),
        by_delay="\n".join(_by_delay(found)),
        best=", ".join(found.instance.names[arm] for arm in best.plan.cycle),
        best_value=best,
        cycles="\n".join(_cycles(log)),
        gain=signed(by_cells(log, BLOCKS).above(by_cells(log, ROUND_ROBIN))),
        history="\n".join(_history(log)),
    )
    return Page("task-switching", text, image(found.plot, "svg"))


def _by_arm(verdict: Verdict) -> list[str]:
    head = ("task", "verdict", "slope per unit of log delay (95 %)", "p-value (Holm)")
    rows = [
        (arm.name, arm.verdict, signed(arm.slope), f"{arm.p_value:.0e}") for arm in verdict.arms
    ]
    return markdown_table(head, rows)


def _by_delay(found: Fit) -> list[str]:
    *delays, _ = (f"{span:g}" for span in found.spans)
    rows = [
        (name, *(f"{mean:.3f}" for mean in means))
        for name, means in zip(found.instance.names, found.cells.means, strict=True)
    ]
    return markdown_table(("task", *delays, "longer"), rows)


def _cycles(log: Log) -> list[str]:
    rows = []
    for name, cycle in (("blocks of four", BLOCKS), ("round robin", ROUND_ROBIN)):
        worth = value(log, cycle.tolist())
        least = min(cell.effective for cell in worth.support)
        interval = f"{worth.mean:.3f} ({worth.low:.3f} to {worth.high:.3f})"
        rows.append((name, interval, signed(worth.gain), f"{least:,.0f}"))
    head = ("cycle", "correct per round (95 %)", "more than the log", "least effective sample")
    return markdown_table(head, rows)


def _history(log: Log) -> list[str]:
    rows = []
    for rounds in range(1, HISTORY + 1):
        cells = [f"{rounds}"]
        for cycle in (BLOCKS, ROUND_ROBIN):
            told = by_history(log, cycle, rounds)
            cells += [str(told.interval()), signed(told.above(by_cells(log, cycle)))]
        rows.append(cells)
    head = ("rounds of history", "blocks of four", "more than by cells")
    return markdown_table((*head, "round robin", "more than by cells"), rows)


TEXT = """# A real log: switching between tasks

{written}

People at a computer saw a number and had to tell its colour, whether it is large (magnitude), or
whether it is even (parity). Which of the three came next was drawn evenly at random, so nothing
but chance decided how long ago a task was last done. A play is a trial, an arm is a task, and the
reward is 1 if the answer was correct. {size} (the cohort *{cohort}* of the source). It starts at
the first test trial, after practice: {unknown} plays have no known delay, and say nothing about
rest.

## Does rest matter?

> {verdict}

Yes, but the other way round: repeating a task is easier than coming back to it. Psychologists
call this the cost of switching (Monsell 2003). It is there in each task:

{by_arm}

It is sure for one round: plays right after the same task differ from rested ones, and of later
ones the log does not show it. The slope is a summary; here the table says it better. Share of
correct answers by rounds since the task was last done:

{by_delay}

![Share of correct answers by task and delay](task-switching.svg)

The curves fall with rest, and `fit` found that by itself: it tries both directions and takes the
one that predicts other users better.

## What is a better order worth?

{cycles}

Blocks of four earn {gain} per round more than round robin. Both use cells that the log has plenty
of.

The best plan of all is to do one task for ever: {best}. It earns {best_value}. That is what was
asked, but not what anyone wants: a plan for the share of correct answers takes the easiest task.
Where each task must be done, [say so by a rule](../../guides/rules.md), or compare cycles that do
each equally often, as above.

## Is the delay all that matters?

A cell is an arm at a delay. Whoever plans by cells believes that what was played before the arm's
last play does not matter. Here that can be checked: tasks were random, so plays can be found
whose last rounds agree with a cycle's, task by task. What they earn needs no belief about cells.

{history}

For round robin a longer history adds nothing that can be seen. For blocks it may: with two to four
rounds of history they are worth more than their cells say, and the intervals of the difference are
above 0. That is a hint and no proof. The table looks twelve times, its intervals are not adjusted
for that, and with more rounds too few plays are left to tell. If it is so, a delay of 1 should tell
apart the second and the fourth time in a row, and what the cells say of blocks is too low.

## Source

Self-Regulation Ontology project (Poldrack lab, Stanford), task *threebytwo*, from the repository
IanEisenberg/Self_Regulation_Ontology, commit 1e6af684, which declares the MIT licence (Copyright
2016 Russell Poldrack). The data are not shipped with fallow. I. W. Eisenberg et al. (2019),
Uncovering the structure of self-regulation through data-driven ontology discovery, Nature
Communications 10, 2319. S. Monsell (2003), Task switching, Trends in Cognitive Sciences 7,
134-140.
"""
