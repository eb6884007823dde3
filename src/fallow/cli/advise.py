"""`fallow advise`: what the rules of an instance cost, and better ones."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from fallow import Instance, Plan, Rules, checks
from fallow.cli.app import app, user_mistakes
from fallow.cli.instances import InstanceArgument, ParametersArgument, read_instance
from fallow.cli.progress import progress_bar
from fallow.cli.tables import print_table
from fallow.cli.terminal import print_line
from fallow.extras import check_extras
from fallow.planners import Advice, advise

KINDS = ("png", "svg")
MOST_DRAWN = 30
"""Rules and arms in the picture; those that matter most."""


@app.command("advise")
def advise_command(
    instance: InstanceArgument,
    parameters: ParametersArgument = None,
    out: Annotated[
        Path | None, typer.Option(help="Draw the advice to this file, .png or .svg.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what the rules of an instance cost, and which cool-downs its means speak for."""
    with user_mistakes():
        if out is not None:
            checks.one_of("the suffix of --out", out.suffix.removeprefix("."), KINDS)
            check_extras("advise --out", "matplotlib")
        model = read_instance(instance, parameters or [])
        with progress_bar("rules looked at", len(model.rules), "nothing is kept") as bar:
            advice = advise(model, lambda: bar.advance(1))
        if as_json:
            print(json.dumps(_document(model, advice), indent=2))
        else:
            _print_advice(model, advice)
        if out is not None:
            _draw(model, advice, out)
        if out is not None and not as_json:
            print()
            print_line(f"drawn to {out}")


def better_rules(instance: Instance, advice: Advice) -> Rules:
    """Return the rules with the model's own cool-downs in place of cool-downs and caps by hand."""
    cooldowns = zip(instance.names, advice.cooldowns, strict=True)
    own = Rules(cooldowns={name: rounds for name, rounds in cooldowns if rounds and rounds > 1})
    kept = (rule for rule in instance.rules if rule.kind not in ("cooldowns", "at_most"))
    return Rules.of((*own, *kept))


def _document(instance: Instance, advice: Advice) -> dict[str, Any]:
    return {
        "gain_without_rules": advice.free.gain,
        "gain_with_rules": advice.ruled.gain,
        "gain_with_recommended_rules": advice.recommended.gain,
        "upper_bound_with_rules": advice.ruled.upper_bound,
        "costs": [{"rule": str(each.rule), "cost": each.cost} for each in advice.costs],
        "cooldowns": dict(zip(instance.names, advice.cooldowns, strict=True)),
        "recommended_rules": better_rules(instance, advice).document(),
    }


def _print_advice(instance: Instance, advice: Advice) -> None:
    plans = {
        "no rules": advice.free,
        "your rules": advice.ruled,
        "model's cool-downs": advice.recommended,
    }
    rows = [_plan_row(name, plan, advice.free) for name, plan in plans.items()]
    print_table(("plan", "gain a round", "of no rules", "proved share", "pulls in cycle"), rows)
    if not instance.rules:
        print("\nThe instance has no rules; they go in a table [rules] of its file.")
    if advice.costs:
        print("\nWhat each rule costs a round, beside all the others")
        share = advice.ruled.gain or 1.0
        print_table(
            ("rule", "cost", "of the gain"),
            [
                (str(each.rule), f"{each.cost:.6f}", f"{each.cost / share:.2%}")
                for each in advice.costs
            ],
        )
    print("\nCool-downs, in rounds from pull to pull")
    yours = _cooldowns(instance.rules)
    print_table(
        ("arm", "yours", "the model's"),
        [
            (name, str(yours.get(name, "")), "not pulled" if own is None else str(own))
            for name, own in zip(instance.names, advice.cooldowns, strict=True)
        ],
    )
    print("\nThe model's own, for the instance's file")
    for line in better_rules(instance, advice).to_toml().splitlines():
        print_line(line)


def _plan_row(name: str, plan: Plan, free: Plan) -> tuple[str, ...]:
    share = plan.gain / free.gain if free.gain > 0 else 1.0
    return (
        name,
        f"{plan.gain:.6f}",
        f"{share:.2%}",
        f"{plan.certificate:.2%}",
        f"{len(plan.cycle):,}",
    )


def _cooldowns(rules: Rules) -> dict[str, int]:
    return {str(rule.arms[0]): rule.rounds for rule in rules if rule.kind == "cooldowns"}


def _draw(instance: Instance, advice: Advice, out: Path) -> None:
    from fallow.drawing.figures import bars_and_dots_figure, image
    from fallow.files import write_whole

    own = {name: gap for name, gap in zip(instance.names, advice.cooldowns, strict=True) if gap}
    yours = _cooldowns(instance.rules)
    shown = [name for name in instance.names if name in own or name in yours][:MOST_DRAWN]
    lost = f"{1 - advice.ruled.gain / advice.free.gain:.1%}" if advice.free.gain > 0 else "nothing"
    content = image(
        lambda: bars_and_dots_figure(
            bars={str(each.rule): each.cost for each in advice.costs[:MOST_DRAWN]},
            dots={
                "your cool-down": {name: yours[name] for name in shown if name in yours},
                "the model's": {name: own[name] for name in shown if name in own},
            },
            bars_label="reward a round that the rule costs",
            dots_label="rounds from pull to pull",
            title=f"The rules cost {lost} of the gain",
        ),
        out.suffix.removeprefix("."),
    )
    write_whole(out, content)
