"""Search a small space of laws, H-TCP's settings, and judge the winner on scenarios not seen.

    python judge_search.py 10 out.json

for so many minutes. Candidates run on 40 scenarios under one seed; those that are better there
than the best so far run on all 200 under three. The winner is judged once on a fresh key: the
search only ever sees one, so what it loses there is what it has overfitted.
"""

import json
import math
import sys
import time

import numpy as np

import narrows as nw

KEY = "the search's"

# The ends of each setting and its default between them, on a logarithmic scale.
SPACE = {
    "delta_l": (0.05, 1.0, 4.0),
    "a0": (1.0, 1.0, 4.0),
    "a1": (1.0, 10.0, 60.0),
    "a2": (0.01, 0.25, 4.0),
    "beta": (0.35, 0.5, 0.75),
    "beta_max": (0.76, 0.8, 0.95),
}


def written(point: np.ndarray) -> str:
    """The law at a point of the unit cube."""
    values = {}
    for (name, (low, _, high)), share in zip(SPACE.items(), point, strict=True):
        values[name] = math.exp(math.log(low) + share * math.log(high / low))
    return ":".join(["htcp", *(f"{name}={value:.4g}" for name, value in values.items())])


def scores(law: str, count: int, seeds: int) -> dict[str, float]:
    """The score of each scenario."""
    judged = nw.judge(law, key=KEY, count=count, seeds=seeds, against=[], budget=600)
    return {it["id"]: it["score"] for it in judged.told["scenarios"]}


def better(ours: dict[str, float], theirs: dict[str, float]) -> float:
    """The mean difference over the same scenarios and seeds."""
    return sum(ours[one] - theirs[one] for one in ours) / len(ours)


def main() -> None:
    """Search, judge the winner, and write the answer."""
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 10
    out = sys.argv[2] if len(sys.argv) > 2 else None
    chance = np.random.default_rng(1)
    best = np.array(
        [math.log(usual / low) / math.log(high / low) for low, usual, high in SPACE.values()]
    )
    best_law, tried, finals = "htcp", 1, 0
    quick, whole = scores(best_law, 20, 1), scores(best_law, 100, 3)
    end, spread = time.monotonic() + 60 * minutes, 0.3
    while time.monotonic() < end:
        point = np.clip(best + spread * chance.normal(size=len(SPACE)), 0, 1)
        law, tried = written(point), tried + 1
        found = scores(law, 20, 1)
        if better(found, quick) <= 0:
            spread = max(0.05, spread * 0.99)
            continue
        finals += 1
        all_found = scores(law, 100, 3)
        mean = better(all_found, whole)
        print(f"{tried:5} {mean:+.2f} {law}", flush=True)
        if mean > 0:
            best, best_law, quick, whole = point, law, found, all_found

    last = nw.judge(best_law, seeds=3, against=["htcp", "cubic", "bbr"], budget=600)
    seen = sum(whole.values()) / len(whole)
    fresh = last.told["score"]["held_out"]
    print(f"{tried} tried, {finals} of them on all scenarios; the best is {best_law}")
    print(f"in the search {seen:.2f}; on a fresh key {fresh['mean']:.2f}")
    for name, difference in last.told["against"].items():
        print(f"against {name}: {difference}")
    if out:
        with open(out, "w", encoding="utf-8") as file:
            json.dump({"law": best_law, "tried": tried, "judged": last.told}, file)


if __name__ == "__main__":
    main()
