"""All claims, in the paper's order."""

from reproduction.claims import (
    alternating,
    figure_2,
    figure_3,
    learning,
    ordering,
    planning,
    ranking,
)
from reproduction.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = (
    planning.PERIODIC,
    planning.GREEDY,
    planning.GREEDY_RATIO,
    planning.THEOREM_1,
    ranking.THEOREM_2,
    ranking.THEOREM_2_EQUAL_DELAYS,
    ranking.THEOREM_2_REPAIRED,
    ranking.GREEDY_ROUND,
    ranking.NOT_MONOTONE_EXAMPLE,
    ranking.NOT_MONOTONE,
    learning.THEOREM_3,
    learning.THEOREM_3_RATE,
    learning.SWITCHES,
    learning.GAPS,
    ordering.THEOREM_4,
    ordering.THEOREM_4_PULLS,
    ordering.CALIBRATION,
    alternating.FIGURE_1,
    figure_2.AVERAGE_GAP,
    figure_2.COMPETITIVE,
    figure_2.PRINTED,
    figure_2.OVERSAMPLING,
    figure_2.LOW_STOPS,
    figure_2.UCB_EXPLORES,
    figure_3.FIGURE_3_COST,
    figure_3.FIGURE_3_FREE,
    figure_3.FIGURE_3_PRINTED,
    alternating.FACT_1,
    figure_3.SUMMARY,
)
