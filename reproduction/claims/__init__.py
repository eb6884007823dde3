"""What the paper claims, each claim checked by a measurement."""
