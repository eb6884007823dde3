"""The scan of readings as a table."""

from collections.abc import Sequence

from reproduction.readings import FIGURE_2, FIGURE_3, GROUP, RUNS, SEED, Drawn

HEAD = (
    "plays rounded",
    "cut stage",
    "keeps within",
    "feedback",
    "pi_low at 490",
    "pi_low at 1,000",
    "distance, Figure 2",
    "log-likelihood, Figure 2",
    "distance, Figure 3",
)


def cells(drawn: Drawn, best: float) -> tuple[str, ...]:
    """Return the row of a reading; `best` is the largest log-likelihood of all."""
    reading = drawn.reading
    return (
        reading.rounding,
        {"race": "raced", "commit": "not begun"}[reading.cut_stage],
        reading.threshold,
        "Bernoulli" if reading.noise else "no noise",
        f"{drawn.at_flat:.0f}",
        f"{drawn.end:.0f} (sd {drawn.end_spread:.0f})",
        f"{drawn.figure_2.distance:.1f}",
        f"{drawn.figure_2.log_likelihood - best:.1f}",
        f"{drawn.figure_3.distance:.1f}",
    )


def rows(readings: Sequence[Drawn]) -> list[tuple[str, ...]]:
    """Return the rows of all readings, the nearest to Figure 2 first."""
    ranked = sorted(readings, key=lambda drawn: -drawn.figure_2.log_likelihood)
    best = ranked[0].figure_2.log_likelihood
    return [cells(drawn, best) for drawn in ranked]


def describe() -> str:
    """Say what was compared, and how."""
    features = "; ".join(
        f"{feature.name}: {feature.printed:.3g} (error {feature.error:g})"
        for feature in (*FIGURE_2, *FIGURE_3)
    )
    return (
        f"Every reading draws both figures, {RUNS:,} runs with seed {SEED} in groups of {GROUP}, "
        f"as the paper averages {GROUP}. Read by eye off the published figures, with the standard "
        f"error of reading: {features}. A distance is Mahalanobis's, in standard deviations of "
        "averages and of reading together; a figure farther than 3.1 has a chance below 5 % in "
        "that reading. Log-likelihoods are relative to the best."
    )


CONCLUSION = (
    "The text has plays that are not whole numbers, a threshold of 2 C_s, Bernoulli rewards, and "
    "a race that goes on until the horizon. Raced like that, the curve is not flat and ends too "
    "high. A reading that commits begins no stage that the horizon would cut, and gives the rounds "
    "that are left to the best policy of the last full stage. Its curve is nearly flat from round "
    "490 on, because the third stage plays the bad policies over 1 to 4 arms until about then, and "
    "the good ones afterwards. With the text's threshold and noise, the committing reading that "
    "rounds down is nearest to the figure: LowSwitch with rounding down and cut stage commit. But "
    "five runs do not settle which reading drew it. At the 5 % level rounding up fits too, and "
    "with a threshold of C_s so do other committing and even racing readings. In Figure 3 only "
    "feedback without noise fits: with Bernoulli rewards pi_ucb does not alternate as printed. If "
    "both figures had the same feedback, it was without noise, and then the reading that rounds "
    "down and commits with 2 C_s is again the nearest to both."
)
