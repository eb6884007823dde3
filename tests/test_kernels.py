"""The compiler's cache: a second process compiles nothing."""

import json
import subprocess
import sys

PLAN_AND_COUNT = """
import json
import fallow
from fallow import kernels
kernels.compile_all()
instance = fallow.catalog.figure2(seed=0)
fallow.plan(instance)
fallow.plan(instance, max_states=0)
counts = {}
for file in kernels.FILES.values():
    for name in file.functions:
        if file.compiled[name].signatures:
            stats = file.compiled[name].stats
            counts[name] = sum(stats.cache_hits.values()), sum(stats.cache_misses.values())
print(json.dumps(counts))
"""


def test_a_second_process_takes_every_kernel_from_the_cache() -> None:
    subprocess.run([sys.executable, "-c", PLAN_AND_COUNT], check=True, capture_output=True)
    second = subprocess.run(
        [sys.executable, "-c", PLAN_AND_COUNT], check=True, capture_output=True, text=True
    )
    counts = json.loads(second.stdout)
    assert {"local_search", "evaluate", "beam_path", "follow"} <= counts.keys()
    for name, (hits, misses) in counts.items():
        assert (name, misses) == (name, 0)
        assert hits > 0
