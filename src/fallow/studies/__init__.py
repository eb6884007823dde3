"""Experiments as data: a spec is run to rows on disk, rows are summarized, summaries drawn."""
