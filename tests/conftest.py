"""Settings of the property tests: the same examples in every run, and no limit on compile time."""

from hypothesis import Phase, settings

settings.register_profile("fallow", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("fallow")
# For tests/mutants.py, where it does not matter how simple the example is that fails.
settings.register_profile("mutants", phases=[Phase.explicit, Phase.generate])
