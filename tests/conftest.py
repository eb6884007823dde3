"""Settings of the property tests: the same examples in every run, and no limit on compile time."""

from hypothesis import Phase, settings

settings.register_profile("fallow", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("fallow")
# For tests/bounds_checked.py, where each kernel is to be called, and all is slow.
settings.register_profile("bounds", max_examples=20)
# For tests/mutants.py, where it does not matter how simple the example is that fails.
settings.register_profile("mutants", phases=[Phase.explicit, Phase.generate])
