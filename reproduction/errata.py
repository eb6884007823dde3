"""Where the paper is wrong, for its readers: what is printed, and the smallest counterexample."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

Grade = Literal["result", "example", "experiment", "slip", "remark"]
GRADES: dict[Grade, str] = {
    "result": "Results that need a repair",
    "example": "Examples that are miscalculated",
    "experiment": "The experiments and what is said of them",
    "slip": "Slips, none of which matters for a result",
    "remark": "A remark",
}
"""How much an erratum matters, gravest first, and the heading of its kind."""


class Erratum(NamedTuple):
    """A place, how much it matters, what is wrong, what shows it, and the claim that measures it.

    Not every slip has a claim.
    """

    place: str
    grade: Grade
    wrong: str
    shown: str
    claim: str = ""


ERRATA = (
    Erratum(
        "Section 5, Theorem 2",
        "result",
        "It fails when delays differ: in r_0 rounds a policy can earn more than mu_1 + ... + "
        "mu_(r_0), by repeating an arm with a short delay. It holds with r_1 (see the claims) "
        "instead of r_0, and as printed for equal delays or two arms.",
        "Baselines 1, 0.99, 0.01, delays 2, 1, 1, f(1) = f(2) = 1, f(3) = 0: r_0 = 3 promises the "
        "optimum; ghost earns 0.6667, the cycle 2, 1, 2, 3 earns 0.7475.",
        "theorem-2",
    ),
    Erratum(
        "Section 5, after Theorem 2",
        "result",
        "When delays differ, the policy over r_0 arms does not achieve the approximation either.",
        "The same arms: it is ghost.",
        "theorem-2-r0",
    ),
    Erratum(
        "Section 6, Theorem 3",
        "result",
        "The last step of the proof drops the sum over the stages. With the printed widths the "
        "root needs a factor of min(1 + ln k, ln ln T), so for a fixed k the stated order is "
        "right. With |A_s| instead of k in C_s the theorem holds as printed.",
        "Delays k, gaps 1.9 C_s, so that half of the policies leave per stage, T = 10^300: 1.5, "
        "2.9, 4.3, 5.8, 7.3 times the stated expression for k = 4, 16, 64, 256, 1,024.",
        "theorem-3",
    ),
    Erratum(
        "Section 7, the end",
        "result",
        "Calibration costs a factor of two only while groups of d_0 are full.",
        "Arms 0.9, 0.8, 0.1 and d_0 = 3: 2.98 times the pulls, as the close pair stays to the "
        "end. Six arms with two 0.05 apart and d_0 = 6: 5.28 times.",
        "calibration",
    ),
    Erratum(
        "Section 8, Fact 1 and the caption of Figure 1",
        "result",
        "Alternating between two optimal ranking policies earns at least as much, not always more; "
        "the proof shows no more.",
        "Baselines 1 and 1/2, delays 1, f = 1/4: 3/4 per round either way.",
        "fact-1",
    ),
    Erratum(
        "Section 3, the example",
        "example",
        "G_T(pi*) = 1 + (T - 1)/2 (3/2 - eps) holds for odd T; for even T it is T/2 (3/2 - eps).",
        "T = 2, eps = 0.1: 1.7 printed, 1.4 earned.",
        "greedy-total",
    ),
    Erratum(
        "Section 3, the example",
        "example",
        "Greedy earns more than 2/3 of the optimum: 1/(3/2 - eps), which tends to 2/3.",
        "eps = 0.1: 0.714 of the optimum.",
        "greedy-ratio",
    ),
    Erratum(
        "Section 5, the example",
        "example",
        "Its g is monotone; with constant f = 1/2 it is not, as claimed.",
        "g = 0.5000, 0.6250, 0.7222 as printed; 0.5000, 0.4167, 0.7222 with f = 1/2.",
        "not-monotone-example",
    ),
    Erratum(
        "Section 8, Figure 2",
        "experiment",
        "As far as values can be read off the figure, Algorithm 1 as printed does not draw the "
        "curve of pi_low. Other readings of it do; which one drew the figure we do not know.",
        "At T = 1,000: 178 printed, 267 by the text; 193 by the nearest reading with the text's "
        "threshold and noise, which rounds plays down and commits. Of all readings 5 of 8 "
        "committing and 3 of 8 racing ones fit.",
        "figure-2-printed",
    ),
    Erratum(
        "Section 8, Figure 2",
        "experiment",
        "At the figure's horizon pi_low does not stop exploring because one policy is left; at "
        "longer ones it does.",
        "T = 1,000: one policy is left in 4 of 1,000 runs.",
        "figure-2-low-stops",
    ),
    Erratum(
        "Section 8, Figure 3",
        "experiment",
        "The curves of pi_ucb are what feedback without noise gives, not Bernoulli rewards.",
        "At T = 1,000, unit cost: 298 printed, 297 without noise, 77 with Bernoulli rewards.",
        "figure-3-printed",
    ),
    Erratum(
        "Section 8, the end",
        "experiment",
        "That pi_low works better than pi_ucb only when the gap is very small is so in the paper's "
        "two experiments, for Algorithm 1 as printed, but does not extend beyond them.",
        "Two policies with gap 0.225, T = 1,000, unit cost: regret 80.4 for pi_low, 160 for "
        "pi_ucb.",
        "summary",
    ),
    Erratum(
        "Section 1",
        "slip",
        "The second difference in the definition of Delta_i is mu_i - mu_(i+1), and what is to be "
        "verified is mu_(i-1) > mu_i > mu_(i+1). The reduction is from maintenance scheduling, not "
        'to it. "A regret bound of bounded by" has two words too many.',
        "Section 7 has Delta_i and the order of the arms right.",
    ),
    Erratum(
        "Sections 3 and 5",
        "slip",
        "G_t(greedy) is G_T(greedy). In the proof of Theorem 2 r_0 is an index, not the largest "
        "expected reward of r_0 rounds.",
        "That reward is meant to be mu_1 + ... + mu_(r_0).",
    ),
    Erratum(
        "Section 5, after Theorem 2",
        "slip",
        "G_T(ghost) is not bigger than the total of the policy over r_0 arms by definition: its "
        "gain is at least as large, but at small T fresh arms may count for more.",
        "Baselines 1 and 0.9, delays 2, f = 1/2, T = 2: 1.5 against 1.9.",
        "ghost-bigger",
    ),
    Erratum(
        "Section 6, Algorithm 1, Theorem 3 and its proof",
        "slip",
        'Line 7 is the argmax of g-hat_s(m). The theorem has "with probability at least 1 - delta" '
        "twice. |A_s| calibration pulls are as many plays, so S is an upper bound. The base case "
        "holds with probability 1 - delta/S, where the text has both 1 - delta and 1 - delta/S. "
        "For s = 1 there is no C_(s-1). The policies of A_s, not A_(s-1), are within 2 C_(s-1). "
        "The regret is at most, not equal to, the sum, which runs over s, not i; its last line "
        "drops a factor 1/sqrt(2).",
        "None of them matters for the result.",
    ),
    Erratum(
        "Section 7, Algorithm 2",
        "slip",
        "K+ and K- must leave out [i] itself: to the letter no arm is ever removed. The second "
        "test has mu-hat_[s] for mu-hat_j, the tail bound eps_t for eps_r, and the loop ends when "
        "one arm is left, not none.",
        "Any two arms: the average of [1] plus 2 eps is not below the least of K+, which has [1]. "
        'The text\'s "(if any)" shows what is meant.',
    ),
    Erratum(
        "Section 7, proof of Theorem 4",
        "slip",
        "r(b, i) lacks the ln k that eps_r has, and the least gap belongs to two arms, so gaps "
        "cannot all differ.",
        "The sum stands, as fewer than sqrt(k) + 1 arms have a Delta_i above 1/sqrt(k).",
    ),
    Erratum(
        "Supplement, proof of Theorem 1",
        "slip",
        "The display averages 1/t_ij; the long-term average is the number of paid services over "
        "the period. The schedule's average is equal to, not at most, sum 1/(d_i + 1); the last "
        "sum runs over j. An interval l_i = 1 gives d_i = 0, where the model has d_i > 0; it is "
        "then the only machine. The theorem stands.",
        "One machine with l = 2, cycle A, A, idle: 0.25 displayed, 0.3333 earned.",
        "theorem-1-display",
    ),
    Erratum(
        "Abstract, sections 1 and 5",
        "remark",
        "The constant factor of ranking policies depends on f. For each f there is one, 1 - f(1): "
        "g(1) = (1 - f(1)) mu_1, and the optimum is at most mu_1. None serves all f.",
        "Baselines 1 and 0.9, delays 2, f = 1: ghost earns 0 per round and the optimum 0.475. "
        "Where rounds may idle, cycles of another kind have a constant for all f, 1 - 1/e "
        "(Papadigenopoulos et al. 2022).",
        "constant-factor",
    ),
)
"""By grade, and within a grade in the paper's order."""


def errata_by_grade() -> Iterator[tuple[str, list[tuple[int, Erratum]]]]:
    """Return the heading of each grade, and its errata with their numbers from 1."""
    numbered = list(enumerate(ERRATA, start=1))
    for grade, heading in GRADES.items():
        yield heading, [pair for pair in numbered if pair[1].grade == grade]
