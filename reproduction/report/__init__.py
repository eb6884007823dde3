"""The report: one page that shows what was run, checked and compared."""
