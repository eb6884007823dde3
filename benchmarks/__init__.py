"""Measurements: a file a question; `make bench` writes docs/explanation/benchmarks.md."""
