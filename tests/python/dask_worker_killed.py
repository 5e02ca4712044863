"""Run a sweep on a real Dask cluster, kill its first worker halfway, and print the result as JSON.

test_sweeps.py runs this script.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from distributed import Client, LocalCluster

import narrows as nw


def kill_in_the_middle(victim: int, cache: Path) -> None:
    """Kill a process once three runs are finished."""
    while len(list(cache.glob("runs/*/*.parquet"))) < 3:
        time.sleep(0.01)
    os.kill(victim, signal.SIGKILL)


def main(cache: Path) -> None:
    base = nw.dumbbell("100Mbps", "20ms", "20p", flows=4, duration="20s")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        victim = next(iter(client.run(os.getpid).values()))
        killer = threading.Thread(target=kill_in_the_middle, args=(victim, cache))
        killer.start()
        result = nw.sweep(
            base, cc=["reno", "cubic"], seeds=10, cache=cache, executor=client.get_executor()
        )
        killer.join()
        after = set(client.run(os.getpid).values())
    print(
        json.dumps(
            {
                "victim": victim,
                "after": sorted(after),
                "failures": list(map(str, result.failures)),
                "runs": result.runs.height,
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
