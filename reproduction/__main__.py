"""`python -m reproduction`."""

from fallow.cli import run_app
from reproduction.cli import app

run_app(app)
