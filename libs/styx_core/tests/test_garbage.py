"""The collector is calmed, and still collects."""

import subprocess
import sys

CALMED = """
import gc
from styx_core import garbage

class Held:
    living = 0
    def __init__(self):
        self.me = self
        Held.living += 1
    def __del__(self):
        Held.living -= 1

garbage.calm()
assert gc.get_threshold() == garbage.THRESHOLDS
assert gc.get_freeze_count() > 0
for _ in range(3 * garbage.YOUNG):
    Held()
print(Held.living)
"""


def test_cycles_go_though_later() -> None:
    ran = subprocess.run([sys.executable, "-c", CALMED], capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 3 * 50_000
