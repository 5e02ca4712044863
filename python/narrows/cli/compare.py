"""`narrows compare`: controllers and pacings over one bottleneck, with one seed or several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from narrows import _core, tables
from narrows._batch import run_all
from narrows._core import ScenarioError
from narrows._files import Folder
from narrows.results import Result
from narrows.scenario import Scenario


def split_list(option: str, text: str) -> list[str]:
    """Split a list by commas.

    Examples
    --------
    >>> split_list("--cc", "cubic, reno")
    ['cubic', 'reno']
    """
    items = [item.strip() for item in text.split(",")]
    if not all(items):
        raise ScenarioError(
            f'{option}: "{text}" has an empty item; separate names by single commas'
        )
    return items


def split_seeds(text: str, first: int | None, usual: int = 1) -> list[int]:
    """Read a number of seeds, like `10`, or a range of them, like `3..12`.

    A number is counted from `first`, or from `usual` if that is None. A range begins where it says,
    and has no `first` beside it.

    Examples
    --------
    >>> split_seeds("3", 7), split_seeds("2..4", None)
    ([7, 8, 9], [2, 3, 4])
    """
    match = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", text.strip())
    if first is not None and not 0 <= first < 2**64:
        raise ScenarioError(f"--seed: {first} is not from 0 to 2^64 - 1; try 1")
    if match and match[2]:
        if first is not None:
            raise ScenarioError(f"--seed: --seeds {text} says the first seed; leave one out")
        seeds = list(range(int(match[1]), int(match[2]) + 1))
    else:
        begin = usual if first is None else first
        seeds = list(range(begin, begin + int(match[1]))) if match else []
    if not seeds or seeds[0] < 0 or seeds[-1] >= 2**64:
        raise ScenarioError(f'--seeds: "{text}" is not a number or range of seeds; try 10 or 1..10')
    return seeds


@dataclass(frozen=True)
class Combinations:
    """Every combination of controller, pacing and seed over the same network.

    Parameters
    ----------
    ccs, pacings, seeds
        The controllers, pacings and seeds to combine; a pacing that is None is the transport's.
    flows
        The number of flows, all with the same controller.
    fields
        The scenario's other fields; those that are None take their defaults.
    flow
        The flows' other fields.
    """

    ccs: list[str]
    pacings: Sequence[str | None]
    seeds: list[int]
    flows: int
    fields: dict[str, Any]
    flow: dict[str, Any]

    def scenarios(self) -> list[Scenario]:
        """Return one checked scenario for each controller and pacing.

        What a law decides by itself is left out for that law: one that paces by itself has one
        scenario whatever the pacings are.
        """
        fields = {name: value for name, value in self.fields.items() if value is not None}
        scenarios = []
        for cc in dict.fromkeys(self.ccs):
            own = _core.decided_by(cc)
            flow = {name: value for name, value in self.flow.items() if name not in own}
            for pacing in [None] if "pacing" in own else dict.fromkeys(self.pacings):
                spaced = {} if pacing is None else {"pacing": pacing}
                group = {"cc": cc, "count": self.flows, **spaced, **flow}
                scenarios.append(Scenario(**fields, flows=[group]))
        return scenarios

    def left_out(self) -> list[str]:
        """Say of each law which of the options it decides by itself."""
        said = {name for name, value in self.flow.items() if value}
        said |= {"pacing"} if list(self.pacings) != [None] else set()
        return [
            f"{cc} decides by itself: {', '.join(own)}"
            for cc in dict.fromkeys(self.ccs)
            if (own := sorted(said & set(_core.decided_by(cc))))
        ]

    def run(self) -> list[Result]:
        """Run every scenario with every seed; the runs of one scenario are adjacent."""
        return run_all([(scenario, seed) for scenario in self.scenarios() for seed in self.seeds])

    def write(self, folder: Folder, results: list[Result]) -> None:
        """Write tables, figure and report."""
        from narrows import plot, report  # noqa: PLC0415 (matplotlib takes half a second)

        several = len(self.seeds) > 1
        for result in results:
            record = result.record()
            label = f"{record['cc']}-{record['pacing']}" + (f"-{result.seed}" if several else "")
            folder.note(result.write(folder.path, re.sub(r"[^A-Za-z0-9.=+-]", "_", label) + "."))
        shown = [result for result in results if result.seed == self.seeds[0]]
        folder.data("comparison.png", plot.png(plot.comparison(results)))
        folder.text("report.html", report.comparison(shown, tables.comparison(results)))
        folder.text("scenario.toml", shown[0].scenario.to_toml())
