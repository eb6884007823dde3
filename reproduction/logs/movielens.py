"""The page on a log in which people chose for themselves: ratings of films by genre."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars

from fallow import Log
from fallow.drawing.figures import image
from fallow.logs import CannotSay, Interval, Verdict, fit, plan_and_value, rest_matters
from reproduction.logs.page import WRITTEN, Page, read_parquet, signed, size_of
from reproduction.text import markdown_table

FILE = Path("movielens_small_2016", "movielens_small_2016.parquet")
STARS = (0.5, 5.0)
SESSION = 20
"""Consecutive ratings of a user that are compared with each other."""
WIDER = 4
"""How many times as wide the scale of differences of ratings is."""
SHOWN = (1, 2, 3, 5, 10)
"""Delays in the table of plain means, beside rested."""


def read(folder: Path) -> polars.DataFrame:
    """Return the rows: one a rating."""
    return read_parquet(folder / FILE)


def log_of(rows: polars.DataFrame, time: str = "event_index") -> Log:
    """Return ratings as plays of genres."""
    return _log(rows, time, rows["rating"], STARS)


def adjusted(rows: polars.DataFrame) -> dict[str, Log]:
    """Return the same plays with something taken off each rating, by what it is.

    On a scale that is `WIDER`, since what is left may be of either sign.
    """
    rating, others = polars.col("rating"), polars.len().over("item").cast(int) - 1
    average = (rating.sum().over("item") - rating) / others
    session = ["user", polars.col("event_index") // SESSION]
    left = rows.with_columns(film=polars.when(others > 0).then(rating - average)).with_columns(
        session=rating - rating.mean().over(session),
        both=polars.col("film") - polars.col("film").mean().over(session),
    )
    width = WIDER * (STARS[1] - STARS[0])
    taken = {
        "what others gave the film": "film",
        f"the user's average in {SESSION} ratings": "session",
        "both": "both",
    }
    return {
        name: _log(rows, "event_index", left[column], (-width / 2, width / 2))
        for name, column in taken.items()
    }


def _log(
    rows: polars.DataFrame, time: str, reward: polars.Series, scale: tuple[float, float]
) -> Log:
    return Log(
        user=rows["user"].to_numpy(),
        time=rows[time].to_numpy(),
        arm=rows["main_genre"].to_numpy(),
        reward=reward.to_numpy(),
        scale=scale,
    )


def page(rows: polars.DataFrame) -> Page:
    """Return what the log says."""
    log = log_of(rows)
    verdict = rest_matters(log)
    tied = log_of(rows, time="t_unix").counts
    text = TEXT.format(
        written=WRITTEN,
        size=size_of(log),
        max_delay=log.max_delay,
        verdict=verdict,
        comparisons="\n".join(_comparisons(verdict, adjusted(rows))),
        by_delay="\n".join(_by_delay(log)),
        refusal=_refusal(log),
        tied=tied.tied,
        contradictory=tied.contradictory,
        repeated=tied.repeated,
    )
    return Page("movielens", text, image(fit(log).plot, "svg"))


def _comparisons(verdict: Verdict, logs: Mapping[str, Log]) -> list[str]:
    rows = [("nothing", *map(signed, verdict.comparisons))]
    for name, log in logs.items():
        slopes = (on_scale_of_ratings(each) for each in rest_matters(log).comparisons)
        rows.append((name, *map(signed, slopes)))
    return markdown_table(("taken off the rating", "all plays of a genre", "within a user"), rows)


def on_scale_of_ratings(slope: Interval) -> Interval:
    """Return a slope of differences of ratings on the scale of ratings."""
    return Interval(*(WIDER * end for end in slope))


def _by_delay(log: Log) -> list[str]:
    expected = np.bincount(log.arms, log.rewards) / np.bincount(log.arms)
    rows = []
    for delay in (*SHOWN, log.max_delay + 1):
        here = log.delays == delay
        mean, usual = log.rewards[here].mean(), expected[log.arms[here]].mean()
        name = f"{delay}" if delay <= log.max_delay else "longer"
        rows.append((name, f"{np.count_nonzero(here):,}", f"{mean:.3f}", f"{mean - usual:+.3f}"))
    return markdown_table(("delay", "plays", "mean reward", "more than its genres' average"), rows)


def _refusal(log: Log) -> str:
    try:
        return str(plan_and_value(log))
    except CannotSay as reason:
        return str(reason)


TEXT = """# A real log: ratings of films by genre

{written}

Do people tire of a genre? In MovieLens, people rate films that they have seen. A play is a
rating, an arm is the genre listed first, the reward is the rating, 0.5 to 5 stars on a scale from
0 to 1, and a delay is the number of the user's ratings since the genre was last rated. {size};
delays of more than {max_delay} count as rested.

## Does rest matter?

> {verdict}

Nobody drew these genres at random. People rate what they chose to watch, in an order of their
own, so there are no propensities, and two comparisons have to do. Reward per unit of log delay,
with 95 % intervals:

{comparisons}

The first compares all plays of a genre, whoever's they are. It is misled by taste: who likes a
genre rates it often, at short delays, and well, which hides what rest does. The second compares
the plays of one user and genre among themselves. It is misled by whatever comes and goes within a
user. fallow says "rest helps" only where both intervals are above 0. Here only the second is, so
it cannot say.

Is that too strict? The second comparison alone would have been a finding. The other rows take
something off each rating that rest has nothing to do with, in ways that one could defend, and the
answers part. Less what others gave the same film, half of the slope within a user is gone, and all
plays of a genre say the opposite. Less the user's own average at that time, both comparisons are
above 0, and one would have read "rest helps". Less both, they disagree again. Slopes within a user
stay above 0 throughout, so there may be something. But what is found depends on what one chooses to
take off, and no choice makes up for chance.

## The trap

The first thing that one looks at is the mean rating by delay:

{by_delay}

Ratings rise with rest, step by step, on a hundred thousand rows. But rare genres have longer
delays and, here, higher ratings. Against what its genres usually get, a rating after a long rest
is no better than one after a short rest.

![Ratings by genre and delay](movielens.svg)

The picture has the genres with the most ratings. Their curves are flat, and intervals hold for
what people chose, not for what they would have said had chance chosen for them.

## What a plan is worth

> {refusal}

Nothing is said of the value of a plan either. What would help is [to leave a part of the choice
to chance](../../guides/logs.md#randomise-a-little), and to log with which probability.

A second trap is in the clock. With the time of the rating in place of its number, {tied:,}
ratings share their second with one of another genre by the same user, whose order is then
unknown; {contradictory:,} look like contradictions, and {repeated:,} like rows written twice,
because the genre, the user and the second are the same. So the page uses the order column of the
source, which breaks ties by the film's number.

## Source

F. Maxwell Harper and Joseph A. Konstan (2015), The MovieLens Datasets: History and Context, ACM
Transactions on Interactive Intelligent Systems 5, 4: 19. The 2016 edition of ml-latest-small, as
in the R package dslabs. GroupLens' licence allows research use, and asks that nobody state or
imply that the University of Minnesota or the GroupLens Research Group endorse what was done with
it; they do not. The data are not shipped with fallow.
"""
