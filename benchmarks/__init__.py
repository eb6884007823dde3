"""Measurements: one file a question, all written to docs/benchmarks.md by `make bench`."""
