"""The command line: `fallow`, or `python -m fallow`."""

from fallow.signals import end_at_signals


def main() -> None:
    """Run the command line."""
    end_at_signals()  # before the imports that follow, which are slow
    from fallow.cli import app, run_app

    run_app(app)


if __name__ == "__main__":
    main()
