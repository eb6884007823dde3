"""Where the paper is wrong, for its readers: what is printed, and the smallest counterexample."""

from typing import NamedTuple


class Erratum(NamedTuple):
    """A place, what is wrong there, what shows it, and the claim that measures it, if any."""

    place: str
    wrong: str
    shown: str
    claim: str = ""


ERRATA = (
    Erratum(
        "Abstract, sections 1 and 5",
        "Ranking policies are not within a constant factor of the optimum.",
        "Baselines 1 and 0.9, delays 2, f = 1: ghost earns 0 a round, the optimum 0.475.",
        "constant-factor",
    ),
    Erratum(
        "Section 1",
        "With noisy rewards UCB's selections of worse policies grow with the squared inverse of "
        "the gaps, and its switches with about the inverse.",
        "Two policies, T = 10^6, gap 0.2 and 0.025: 628 and 4,090 switches, 6.5 times, not 64.",
        "switches-by-gap",
    ),
    Erratum(
        "Section 1",
        "The second difference in the definition of Delta_i is mu_i - mu_(i+1), and what is to be "
        "verified is mu_(i-1) > mu_i > mu_(i+1).",
        "Slips: section 7 has both right. Nor is the reduction one to maintenance scheduling, but "
        "from it.",
    ),
    Erratum(
        "Section 3, the example",
        "G_T(pi*) = 1 + (T - 1)/2 (3/2 - eps) holds for odd T; for even T it is T/2 (3/2 - eps).",
        "T = 2, eps = 0.1: 1.7 printed, 1.4 earned.",
        "greedy-total",
    ),
    Erratum(
        "Section 3, the example",
        "Greedy earns more than 2/3 of the optimum: 1/(3/2 - eps), which tends to 2/3.",
        "eps = 0.1: 0.714 of the optimum.",
        "greedy-ratio",
    ),
    Erratum(
        "Section 5, Theorem 2",
        "It fails when delays differ: in r_0 rounds a policy can earn more than mu_1 + ... + "
        "mu_(r_0), by repeating an arm with a short delay. It holds with r_1 (see the claims) in "
        "place of r_0, and as printed for equal delays or two arms.",
        "Baselines 1, 0.99, 0.01, delays 2, 1, 1, f(1) = f(2) = 1, f(3) = 0: r_0 = 3 promises the "
        "optimum; ghost earns 0.6667, the cycle 2, 1, 2, 3 earns 0.7475.",
        "theorem-2",
    ),
    Erratum(
        "Section 5, after Theorem 2",
        "The policy over r_0 arms does not achieve the approximation either when delays differ.",
        "The same arms: it is ghost.",
        "theorem-2-r0",
    ),
    Erratum(
        "Section 5, after Theorem 2",
        "G_T(ghost) is not bigger than the total of the policy over r_0 arms by definition: its "
        "gain is at least as large, but at small T fresh arms may count for more.",
        "Baselines 1 and 0.9, delays 2, f = 1/2, T = 2: 1.5 against 1.9.",
        "ghost-bigger",
    ),
    Erratum(
        "Section 5, the example",
        "Its g is monotone; with constant f = 1/2 it is not, as claimed.",
        "g = 0.5, 0.625, 0.7222 as printed; 0.5, 0.4167, 0.7222 with f = 1/2.",
        "not-monotone-example",
    ),
    Erratum(
        "Section 6, Theorem 3",
        "The last step drops a factor: each of the S - 1 terms of the sum is of the order of the "
        "root, so the root is to be multiplied by ln ln T.",
        "All delays k, gaps 1.9 C_(s-1): 3.1 times the printed expression at k = 16, T = 10^6; 4.0 "
        "at 64, 10^15; 7.3 at 1,024, 10^300; it grows with S.",
        "theorem-3",
    ),
    Erratum(
        "Section 6, Algorithm 1 and the proof of Theorem 3",
        "Line 7 is the argmax of g-hat_s(m); |A_s| calibration pulls are as many plays, so S is an "
        "upper bound; the regret is at most, not equal to, the sum; the policies of A_s, not "
        "A_(s-1), are within 2 C_(s-1); the last line drops a factor 1/sqrt(2).",
        "Slips, none of which matters for the result.",
    ),
    Erratum(
        "Section 7, Algorithm 2",
        "K+ and K- must leave out [i] itself: to the letter no arm is ever removed. The second "
        "test has mu-hat_[s] for mu-hat_j, the tail bound eps_t for eps_r, and the loop ends when "
        "one arm is left, not none.",
        "Any two arms: the average of [1] plus 2 eps is not below the least of K+, which has [1].",
    ),
    Erratum(
        "Section 7, proof of Theorem 4",
        "r(b, i) lacks the ln k that eps_r has, and the least gap belongs to two arms, so gaps "
        "cannot all differ.",
        "Slips: the sum stands, as at most about 2 sqrt(k) gaps exceed 1/sqrt(k).",
    ),
    Erratum(
        "Section 7, the end",
        "Calibration costs a factor of two only while groups of d_0 are full.",
        "Arms 0.9, 0.8, 0.1 and d_0 = 3: 2.98 times the pulls, as the close pair stays to the "
        "end; with six arms and d_0 = 6 it is nearly six times.",
        "calibration",
    ),
    Erratum(
        "Section 8, Figure 2",
        "The curve of pi_low is not that of Algorithm 1 as printed (see below).",
        "At T = 1,000: 178 printed, 267 by the text; 193 if plays are rounded down and no stage is "
        "begun that the horizon would cut.",
        "figure-2-printed",
    ),
    Erratum(
        "Section 8, Figure 2",
        "The text speaks of Algorithm 1 as printed: the pi_low that drew the figure has less "
        "regret than pi_ucb, at a gap that is not small.",
        "As drawn, 200 runs: 194 against 217.",
        "figure-2",
    ),
    Erratum(
        "Section 8, Figure 2",
        "Nor does the pi_low that drew the figure sample worse policies more often than pi_ucb.",
        "Of 1,000 rounds 661 go to them under pi_ucb, 40.6 fewer as drawn, 182 more as printed.",
        "figure-2-oversampling",
    ),
    Erratum(
        "Section 8, Figure 2",
        "pi_low does not stop exploring there because one policy is left.",
        "T = 1,000: one policy is left in 4 of 1,000 runs.",
        "figure-2-low-stops",
    ),
    Erratum(
        "Section 8, Figure 3",
        "The curves of pi_ucb are those of feedback without noise, not of Bernoulli rewards.",
        "At T = 1,000, unit cost: 298 printed, 297 without noise, 77 with Bernoulli rewards.",
        "figure-3-printed",
    ),
    Erratum(
        "Section 8, Fact 1 and the caption of Figure 1",
        "Alternating between two optimal ranking policies earns at least as much, not always more; "
        "the proof shows no more.",
        "Baselines 1 and 1/2, delays 1, f = 1/4: 3/4 a round either way.",
        "fact-1",
    ),
    Erratum(
        "Section 8, the end",
        "pi_low works better than pi_ucb also where the gap is not small, as in the printed Figure "
        "2 (178 against 230).",
        "Two policies with gap 0.225, T = 1,000, unit cost: 80 against 160.",
        "summary",
    ),
    Erratum(
        "Supplement, proof of Theorem 1",
        "The display averages 1/t_ij; the long-term average is the number of paid services over "
        "the period. The schedule's average is equal to, not at most, sum 1/(d_i + 1); the last "
        "sum runs over j. The theorem stands.",
        "One machine with l = 2, cycle A, A, idle: 0.25 displayed, 0.3333 earned.",
        "theorem-1-display",
    ),
)
