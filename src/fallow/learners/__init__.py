"""Learners: what to do when the parameters of the instance are not known."""
