"""What GWA's pages say of ns-2 is what the runs of ns-2 in `validation` say."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from narrows_papers.gwa.ns2 import NS2, Network

VALIDATION = Path(__file__).parents[2] / "validation"
# ns-2's RED with ECN, made to mark above the upper threshold, is the paper's ECN.
SYSTEMS = {"DropTail": "Drop-Tail", "RED": "RED", "MARK": "ECN"}


def runs_of_ns2() -> dict[tuple[str, Network], list[dict[str, Any]]]:
    runs = defaultdict(list)
    for name in ("lan.jsonl", "gwa.jsonl"):
        for line in (VALIDATION / name).read_text().splitlines():
            run = json.loads(line)
            case = run["case"]
            if case["q"] in SYSTEMS:
                network = Network(case["bw"], case["access"], case["n"], case["kb"])
                runs[SYSTEMS[case["q"]], network].append(run["result"])
    return runs


def test_every_number_of_ns2_is_the_mean_of_its_runs() -> None:
    runs = runs_of_ns2()
    assert set(NS2) == set(runs)
    for key, seen in NS2.items():
        results = runs[key]
        longest = [result["telnet_max"] for result in results]
        means = [
            *(float(np.mean([result[name] for result in results])) for name in FIELDS),
            min(longest),
            float(np.mean(longest)),
            max(longest),
        ]
        kept = [seen.most, seen.mean, seen.least, seen.drops, *seen.longest]
        assert seen.seeds == len(results), key
        # Four digits are kept.
        assert np.allclose(kept, means, rtol=6e-4, atol=1e-12), key


FIELDS = ("most", "mean", "least", "loss_rate")
