"""An instance as code that builds it again, in the words it was built with where there are any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fallow.explore.model import Model
from fallow.instance import Instance
from fallow.toml import inline


def as_python(instance: Instance, model: Model | None) -> str:
    """Return Python that builds an instance and plans it."""
    if model is None:
        maker = "Instance"
        rows = "".join(f"\n        {row}," for row in instance.means.tolist())
        arguments = {"means": f"[{rows}\n    ]"}
    else:
        maker = "Instance.b2dep"
        [(family, parameter)] = model.decay.items()
        arguments = {
            "baselines": repr(list(model.baselines)),
            "delays": repr(list(model.delays)),
            "decay": f"fallow.decay.{family}({parameter!r})",
        }
    arguments["names"] = repr(list(instance.names))
    lines = "".join(f"    {name}={value},\n" for name, value in arguments.items())
    rules = f".with_rules(fallow.{instance.rules!r})" if instance.rules else ""
    return (
        f"import fallow\n\ninstance = fallow.{maker}(\n{lines}){rules}\n"
        "best = fallow.plan(instance)\n"
        "print(best.names)\n"
        'print(f"{best.gain:.3f} a round, {best.certificate:.1%} of the best possible")\n'
    )


def as_toml(instance: Instance, model: Model | None) -> str:
    """Return the TOML file from which `fallow plan` and `Instance.load` read an instance."""
    if model is None:
        return instance.to_toml()
    document: Mapping[str, Any] = {"names": list(instance.names), **model._asdict()}
    lines = "".join(f"{key} = {inline(value)}\n" for key, value in document.items())
    return lines + (f"\n{instance.rules.to_toml()}" if instance.rules else "")
