"""The application that the commands join."""

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def options() -> None:
    """Reproduce the paper's experiments, check its claims, and compare all learners."""
