"""What the report says."""

import base64
import csv
import re
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import matplotlib as mpl
import pytest
from helpers import run_command
from matplotlib.figure import Figure
from report_helpers import EXPERIMENTS, ROOT, SPECS, without_pictures

from fallow import optimal
from fallow.catalog import figure2, figure3
from fallow.intervals import Estimate
from fallow.planners import ghost, transition_totals
from fallow.studies.draw import chart
from fallow.studies.summarize import summarize
from reproduction.claims.claim import Finding, Verdict, count_verdicts
from reproduction.claims.registry import CLAIMS
from reproduction.cli import app
from reproduction.errata import ERRATA
from reproduction.readings import SOURCE
from reproduction.report.comparison import Variant, compare_with_paper, count_inside, tabulate
from reproduction.report.content import Content, compare_planners
from reproduction.report.experiment import ends_csv
from reproduction.report.page import figure_1, figure_1_exhibit, html
from reproduction.report.reproduction import markdown
from reproduction.report.summary import HOLDING, REPAIRED, answer_questions

pytestmark = pytest.mark.slow


def test_links_lead_to_places_on_the_page(report_page: Path) -> None:
    text = report_page.read_text(encoding="utf-8")
    targets = re.findall(r'href="#([^"]+)"', text)
    assert len(targets) == 1 + 8 + 6 + sum(bool(erratum.claim) for erratum in ERRATA)
    assert all(f'id="{target}"' in text for target in targets)


def test_the_page_says_what_was_found(report: Content, report_page: Path) -> None:
    text = without_pictures(report_page)
    assert "17 &amp; &lt;b&gt;4&lt;/b&gt;" in text  # measured text is not taken for HTML
    repaired = [claim for claim in CLAIMS if claim.expected == "holds as repaired"]
    assert text.count('class="verdict holds-as-repaired"') == len(repaired)
    assert f"<p>{count_verdicts(report.findings)}.</p>" in text
    assert "On 13 draws of Figure 2" in text
    for result in report.results:
        assert f'id="figure-{result.spec.name}"' in text
        assert result.spec.digest()[:12] in text
    assert "$" not in text


def test_first_answers_are_the_verdicts_and_regrets_that_were_found(report: Content) -> None:
    lines = answer_questions(report)
    answers = {line.section: line.answer for line in lines}
    assert answers["claims"].startswith("Yes: the model, both algorithms and all figures run.")
    assert not any(
        claim.name in line.answer for claim in CLAIMS for line in lines if "-" in claim.name
    )
    for subjects, section in ((HOLDING, "claims"), (REPAIRED, "errata")):
        for names, words in subjects:
            assert words in answers[section]
            for name in names:
                failed = _with_verdict(report, name, "does not hold")
                (line,) = [each for each in answer_questions(failed) if each.section == section]
                assert words not in line.answer
    low, ucb = _ends(report, "figure2-bernoulli")
    order = "Yes in" if low.mean < ucb.mean else "Not in"
    assert answers["readings"].startswith(f"{order} the order of the two learners. In print pi_low")
    assert "pi_low ends below pi_ucb, 178 against 230;" in answers["readings"]
    assert f" it, {low} against {ucb}. Of 16 readings" in answers["readings"]
    fitting = sum(drawn.fits for drawn in report.readings)
    assert f" {fitting} fit the printed curves" in answers["readings"]
    _, ucb = _ends(report, "figure3-bernoulli")
    assert answers["published"].startswith("Yes, with feedback without noise: ")
    assert "pi_ucb ends at 297, printed 298." in answers["published"]
    assert answers["published"].endswith(f"it ends at {ucb}.")
    assert "13 draws" in answers["planners"]
    assert "80.0% of the optimum, and beam" in answers["planners"]
    shares = [
        standing.share
        for standing in report.standings
        if standing.label == "bayes-rotation-unbounded" and standing.rounds > 1_000
    ]
    assert f"earns {mean(shares):.1%}" in answers["tournament"]
    assert len(answer_questions(replace(report, standings=()))) == len(answers) - 1


def _with_verdict(report: Content, name: str, verdict: Verdict) -> Content:
    """Return the report with another verdict on one claim."""
    findings = [
        (claim, Finding("", verdict) if claim.name == name else finding)
        for claim, finding in report.findings
    ]
    return replace(report, findings=findings)


def _ends(report: Content, name: str) -> list[Estimate]:
    """Return where pi_low and pi_ucb end with a unit switching cost in an experiment."""
    curves = next(result.curves for result in report.results if result.spec.name == name)
    ends = {curve.learner: curve.regret.at(-1) for curve in curves if curve.switching_cost == 1}
    return [ends["pi_low"], ends["pi_ucb"]]


def test_the_page_says_where_the_tournament_comes_from(report: Content, report_page: Path) -> None:
    text = " ".join(without_pictures(report_page).split())
    assert "did not play the tournament" in text
    learners = {standing.learner for standing in report.standings}
    families = {standing.family for standing in report.standings}
    seeds = {standing.seed for standing in report.standings}
    assert f"{len(learners)} learners on {len(families)} families, " in text
    assert f"seeds {min(seeds)} to {max(seeds)}" in text
    assert "did not play the tournament" not in html(replace(report, standings=()))


def test_captions_have_the_runs_and_horizons_that_were_run(report: Content) -> None:
    captions = {result.spec.name: result.exhibit.caption for result in report.results}
    assert captions["figure2"].endswith(" 2 runs, T = 1,000.")
    assert captions["further-gap"].endswith(" 3 runs at each epsilon, T = 1,000.")
    assert captions["further-horizons-figure2"].endswith(
        " 3 runs at each horizon, T = 1,000; 2,000."
    )
    totals = transition_totals(figure3())
    assert f"three rounds earns {totals[0, 1] + totals[1, 0]:.3g}," in figure_1_exhibit().caption


def test_texts_of_specs_have_no_measured_numbers() -> None:
    """A number that is written by hand would stay when results change."""
    for spec in SPECS:
        for text in (spec.caption, *(published.note for published in spec.published)):
            words = re.sub(
                r"Figure \d|Algorithm \d|costs 1 |above 1 at|>= 0|95 % inter|figure-2-printed",
                "",
                text,
            )
            assert not re.search(r"\d|per cent|factor|times less", words), text


def test_published_values_are_compared(report: Content) -> None:
    """There is one comparison for each of the six values that the paper has, by variant."""
    comparisons = compare_with_paper(report.results)
    values = {
        (spec.section, each.learner, each.switching_cost)
        for spec in SPECS
        for each in spec.published
    }
    assert len(comparisons) == len(values) == 6
    measured = [ours for row in comparisons for ours in row.ours.values()]
    assert len(measured) == sum(len(spec.published) for spec in SPECS)
    figure_3 = [row for row in comparisons if row.figure == "Figure 3"]
    exact = [row.ours[Variant(3, noise=False)] for row in figure_3]
    assert [round(ours.mean, 1) for ours in exact] == [296.6, 5.8, -36.4, -1.2]
    assert all(ours.agrees and ours.note == "" for ours in exact)
    noisy = [row.ours[Variant(3, noise=True)] for row in figure_3]
    assert [ours.agrees for ours in noisy] == [False, True, False, True]
    assert "without noise" in noisy[0].note


def test_published_values_are_counted_once_and_readings_apart(report: Content) -> None:
    comparisons = compare_with_paper(report.results)
    assert [row.published.learner for row in comparisons if row.committing] == ["pi_low"] * 3
    table = tabulate(comparisons)
    assert sum(row[4] != "" for row in table.rows) == 6
    committing = [row for row in table.rows if row[1] == "pi_low, committing"]
    assert len(committing) == 3
    assert all(row[4] == "" for row in committing)
    exact = Variant(3, noise=False)
    printed = sum(row.ours[exact].agrees for row in comparisons)
    read = sum({**row.ours, **row.committing}[exact].agrees for row in comparisons)
    sentence, other, _ = count_inside(comparisons).split(".")
    assert sentence.startswith("Of the 6 published values our mean lies inside the band for ")
    assert sentence.endswith(f" {printed} (3 runs, no noise)")
    assert other.endswith(f" {read} (3 runs, no noise)")


def test_only_published_curves_have_a_diamond(report: Content) -> None:
    """The paper has no committing curve, so no legend may call one published."""
    for result in report.results:
        marks = {
            mark.curve for panel in chart(result.spec, result.curves).panels for mark in panel.marks
        }
        assert marks <= {"pi_low", "pi_ucb"}


def test_the_source_of_published_values_is_named(report: Content, report_page: Path) -> None:
    assert "PMLR 108, AISTATS 2020" in SOURCE
    assert "read by eye" in SOURCE
    assert SOURCE in markdown(report)
    page = " ".join(without_pictures(report_page).split())
    assert page.count(SOURCE) == 1
    assert "our bands are 95 % intervals of the mean" in page


def test_a_reason_is_given_once_and_its_number_where_it_applies(report: Content) -> None:
    table = tabulate(compare_with_paper(report.results))
    assert len(set(table.notes)) == len(table.notes) == 2
    assert table.head[5:] == ("2 runs", "3 runs", "3 runs, no noise", "note")
    row = next(row for row in table.rows if row[:3] == ("Figure 3", "pi_ucb", "1"))
    assert row[4] == "298 (294 to 302)"
    assert row[5].endswith(", outside")
    assert row[7] == "296.6 ± 0.0, inside"
    assert "without noise" in table.notes[int(row[8]) - 1]


def test_experiments_with_the_same_name_of_variant_keep_their_values(report: Content) -> None:
    once = compare_with_paper(report.results)
    twice = compare_with_paper([*report.results, *report.results])
    assert len(twice) == 2 * len(once)


def test_the_documentation_is_of_the_specs_and_claims_as_they_are_now() -> None:
    text = (ROOT / "docs" / "explanation" / "reproduction.md").read_text(encoding="utf-8")
    lines = text.splitlines()
    assert len(lines) <= 170
    cells = [cell for line in lines if line.startswith("|") for cell in line.split(" | ")]
    assert max(map(len, cells)) <= 350
    rows = [line for line in lines if re.match(r"\| Figure \d", line)]
    values = [
        value
        for line in rows
        for value in re.findall(r"(inside|outside) \|", line)
        if "committing" not in line
    ]
    assert len(values) == sum(len(spec.published) for spec in SPECS)
    for row in rows:
        assert ("outside" in row) == (re.search(r"\| \d+ \|$", row) is not None), row
    for spec in SPECS:
        assert re.search(rf"^\| {spec.name} \| {spec.runs} .*{spec.digest()[:12]}", text, re.M)
        for published in spec.published:
            assert text.count(published.note) == 1 or published.note == ""
    for claim in CLAIMS:
        assert claim.statement in text.replace("\\", "")


def test_tables_of_the_documentation_are_whole(report: Content) -> None:
    first, *others = report.results
    odd = replace(first.spec, section="a | b\nc")
    changed = replace(report, results=[replace(first, spec=odd), *others])
    tables = [block.splitlines() for block in markdown(changed).split("\n\n") if block[0] == "|"]
    assert len(tables) == 4
    for head, line, *rows in tables:
        assert rows
        for row in (line, *rows):
            assert row.replace(r"\|", "").count("|") == head.count("|")
    assert r"a \| b c" in markdown(changed)


def test_failed_runs_are_not_counted(report: Content) -> None:
    first = report.results[0]
    curves = [replace(curve, runs=curve.runs - 1) for curve in first.curves]
    assert replace(first, curves=curves).cells()[1] == f"{first.spec.runs - 1} of {first.spec.runs}"


def test_every_curve_has_its_end_in_the_file(report: Content) -> None:
    rows = list(csv.DictReader(ends_csv(report.results).splitlines()))
    assert len(rows) == sum(len(result.curves) for result in report.results)
    result, row = report.results[-1], rows[-1]
    last = result.curves[-1]
    assert (row["experiment"], row["learner"]) == (result.spec.name, last.learner)
    assert int(row["round"]) == last.rounds[-1]
    assert float(row["regret"]) == pytest.approx(last.regret.mean[-1], rel=1e-5)
    assert float(row["share_of_optimum"]) == pytest.approx(last.share.mean[-1], rel=1e-5)
    quantiles = float(row["regret_quantile_0.05"]), float(row["regret_quantile_0.95"])
    assert quantiles == pytest.approx(last.regret_quantiles[[0, -1], -1], rel=1e-5)


def test_planners_are_compared_with_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reproduction.report.content.DRAWS", 3)
    rows = {row.planner: row for row in compare_planners()}
    assert rows["optimal"].worst == pytest.approx(1)
    assert rows["ghost"].mean < rows["whittle"].mean <= 1 + 1e-12
    shares = [ghost(figure2(seed)).gain / optimal(figure2(seed)).gain for seed in range(3)]
    assert rows["ghost"].worst == pytest.approx(min(shares))
    assert rows["ghost"].mean == pytest.approx(mean(shares))
    for row in rows.values():
        assert row.certificate <= row.mean + 1e-9
        assert row.worst <= row.mean


def test_figure_1_has_the_totals_where_they_belong() -> None:
    """An arrow from pi_1 to pi_2 carries what a play of pi_2 earns after one of pi_1."""
    texts = [text.get_text() for text in figure_1().axes[0].texts]
    totals = transition_totals(figure3())
    place = {text: number for number, text in enumerate(texts)}
    assert place[f"{totals[0, 1]:.3f}"] < place[r"$\pi_2$"] < place[f"{totals[1, 0]:.3f}"]


def test_one_command_writes_it_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    claims = [claim for claim in CLAIMS if claim.name in ("greedy", "greedy-ratio")]
    monkeypatch.setattr("reproduction.claims.registry.CLAIMS", claims)
    monkeypatch.setattr("reproduction.report.content.DRAWS", 2)
    monkeypatch.setattr("reproduction.cli.report.warn_of_surprises", seen.append)
    drawings, files, summaries = _count_work(monkeypatch)
    specs = [str(EXPERIMENTS / f"{name}.toml") for name in ("figure3", "figure2")]
    words = ["report", *specs, "--out", str(tmp_path / "out"), "--reproduction"]
    run_command(*words, str(tmp_path / "reproduction.md"), app=app)
    text = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert text.index("figure-figure2") < text.index("figure-figure3")
    assert "On 2 draws of Figure 2" in text
    svg = (tmp_path / "out" / "results" / "figure2" / "figure.svg").read_bytes()
    assert base64.b64encode(svg).decode() in text
    assert (tmp_path / "out" / "results" / "figure2" / "figure.png").read_bytes()[1:4] == b"PNG"
    assert (tmp_path / "out" / "ends.csv").read_text().count("\n") == 8
    assert len(seen) == 1
    assert "| holds as repaired |" in (tmp_path / "reproduction.md").read_text(encoding="utf-8")
    # Each once for wide and once for narrow screens; Figure 1 has no PNG.
    wanted = [("Figure 1", "svg", ground) for ground in GROUNDS] * 2
    for title in ("Figure 2 as described", "Figure 3 as described"):
        wanted += [(title, "svg", ground) for ground in GROUNDS] * 2
        wanted.append((title, "png", GROUNDS[0]))
    assert sorted(files) == sorted(wanted)
    assert len(drawings) == len(wanted)
    assert summaries == ["figure3", "figure2"]


GROUNDS = ("#ffffff", "#161a1d")


def _count_work(
    patch: pytest.MonkeyPatch,
) -> tuple[list[Figure], list[tuple[str, str, str]], list[str]]:
    """Return lists that will hold each drawing, each file of one, and each folder summarized."""
    drawings: list[Figure] = []
    files: list[tuple[str, str, str]] = []
    summaries: list[str] = []
    make, save = Figure.__init__, Figure.savefig

    def count_drawing(figure: Figure, *arguments: Any, **options: Any) -> None:
        drawings.append(figure)
        make(figure, *arguments, **options)

    def count_file(figure: Figure, *arguments: Any, **options: Any) -> None:
        title = figure.get_suptitle().partition(":")[0]
        ground = mpl.rcParams["savefig.facecolor"]
        files.append((title, options["format"], ground))
        save(figure, *arguments, **options)

    def count_summary(folder: Path) -> Any:
        summaries.append(folder.name)
        return summarize(folder)

    patch.setattr(Figure, "__init__", count_drawing)
    patch.setattr(Figure, "savefig", count_file)
    for module in ("fallow.studies.summarize", "reproduction.report.experiment"):
        patch.setattr(f"{module}.summarize", count_summary)
    return drawings, files, summaries
