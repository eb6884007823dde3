"""Planners: what to do when the parameters of the instance are known."""
