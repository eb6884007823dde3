"""Settings of the property tests: the same examples in every run, and no limit on compile time."""

from hypothesis import settings

settings.register_profile("fallow", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("fallow")
