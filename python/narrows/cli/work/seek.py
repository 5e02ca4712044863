"""`narrows seek`: what is searched, and what is printed of it."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrows import _core, own
from narrows.cli.work.printing import folder_of
from narrows.cli.work.score import KEPT, goes_on
from narrows.errors import Error
from narrows.made import Made
from narrows.metrics import quantity
from narrows.networks import dumbbell
from narrows.scenario import Scenario
from narrows.score.store import Store
from narrows.seek.search import FRESH, Effort, Finding, seek
from narrows.seek.served import lines
from narrows.seek.space import BESIDE_SERVED, USUAL, Settings, Space, space_of
from narrows.seek.trial import Trial
from narrows.statistics import mean_and_interval
from narrows.terminal import put, say

CUBIC = {"cubic": {"cc": "cubic"}}
# What --worst means: the expectation, and the references that it speaks of.
WORST: dict[str, tuple[dict[str, str], dict[str, dict[str, str]]]] = {
    "share": ({"groups.own.share": ">= 0.25"}, {}),
    "others-share": ({"groups.other.share": ">= 0.25"}, {}),
    "utilisation": ({"utilisation": ">= 0.5 * cubic"}, CUBIC),
    "delay": ({"links.bottleneck.delay_p95": "<= 2 * cubic + 5ms"}, CUBIC),
    "loss": ({"loss_rate": "<= 2 * cubic + 2%"}, CUBIC),
    "harm": (
        {"groups.other.goodput.harm": "<= max(reno, cubic) + 20%"},
        {
            "reno": {"flows[0].cc": "reno"},
            "cubic": {"flows[0].cc": "cubic"},
            "alone": {"without": "own"},
        },
    ),
    "starvation": ({"groups.own.starvation": "<= 20s"}, {}),
}
# Of a run.
LENGTH = "60s"
# What may be bred, in milliseconds: a packet each.
LONGEST = 600_000
# A trace where what is bred will be.
PLACEHOLDER = "narrows:made-up-lte.down"
PAIRS = ("share", "others-share", "harm", "starvation")


@dataclass(frozen=True)
class Ask:
    """What a command was asked to search."""

    file: Path | None
    cc: str | None
    against: str | None
    worst: str
    vary: str | None
    changes: str
    served: str | None
    duration: str | None
    budget: int
    count: int
    seed: int

    def scenario(self) -> Scenario:
        """Return the scenario whose settings vary."""
        if self.file is not None:
            self._bred()
            if self.cc or self.against:
                raise Error("--cc: the file says its controllers; leave it out")
            scenario = Scenario.load(self.file)
            if self.duration:
                scenario = scenario.with_(duration=self.duration)
            if not scenario.checked.expectations() or "dumbbell" not in scenario.fields:
                raise Error(f"{self.file}: what is searched is a dumbbell with an [expect]")
            return scenario
        if not self.cc:
            raise Error("--cc: name a law or a stack, like bbr, or give a file with [expect]")
        if self.worst in PAIRS and not self.against:
            raise Error(f"--worst {self.worst}: name the other flow's law with --against")
        flows: list[dict[str, Any]] = [{"name": "own", "cc": own.named("--cc", [self.cc])[0]}]
        if self.against:
            [other] = own.named("--against", [self.against])
            flows.append({"name": "other", "cc": other})
        expect, reference = self._expected()
        duration = self.duration or LENGTH
        base = dumbbell("10Mbps", "50ms", "20p", duration=duration)
        if self._bred():
            base = dumbbell(None, "50ms", "20p", duration=duration, trace=PLACEHOLDER)
            base = base.with_(warmup=self.served)
        return base.with_(flows=flows, expect=expect, reference=reference)

    def space(self, duration: float) -> Space:
        """Return what varies in runs of so many seconds."""
        bred = self._bred()
        usual = BESIDE_SERVED if bred else USUAL
        return space_of(usual if self.vary is None else self.vary, self.changes, duration, bred)

    def _bred(self) -> int:
        """Return for how many milliseconds what is served is bred."""
        if self.served is None:
            return 0
        if self.file is not None:
            raise Error("--served: the file says what its bottleneck serves; give --cc")
        bred = round(1000 * _core.seconds("--served", self.served))
        length = round(1000 * _core.seconds("--duration", self.duration or LENGTH))
        if not 1 <= bred <= LONGEST:
            raise Error(f"--served: {self.served} is not from 1ms to {LONGEST // 1000}s; try 5s")
        if bred >= length:
            raise Error(f"--served: {self.served} leaves nothing of a run of {length / 1000:g} s")
        return bred

    def _expected(self) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        if self.worst in WORST:
            return WORST[self.worst]
        match = re.fullmatch(r"([\w.\[\]]+)\s*([<>=].*)", self.worst.strip())
        if not match:
            known = ", ".join(WORST)
            raise Error(f'--worst: unknown "{self.worst}"; known: {known}, or "jain >= 0.8"')
        return {match[1]: match[2]}, {}


def found(ask: Ask, cache: Path, as_json: bool, output: Path | None, force: bool) -> bool:
    """Search, print what is found, and write it; return whether something was found."""
    scenario = ask.scenario()
    duration, _ = scenario.checked.times()
    trial = Trial(scenario, ask.space(duration), Store(cache / KEPT))
    if trial.space.served and output is None:
        raise Error("--served: what is bred is a trace; say with -o where it is written")
    effort = Effort()
    with folder_of(output, force) as folder:
        try:
            findings = seek(trial, ask.budget, ask.count, ask.seed, effort)
        except KeyboardInterrupt:
            say(goes_on(cache / KEPT, list(scenario.controllers.values())))
            raise
        texts = [text_of(trial, finding, number) for number, finding in enumerate(findings, 1)]
        for finding, text in zip(findings, texts, strict=True):
            put(json.dumps(_record(finding, text)) if as_json else text)
        if not findings:
            ran = effort.tried - effort.refused
            told = f"; {effort.refused} could not be run" if effort.refused else ""
            more = "; a larger --budget breeds on" if trial.space.served else ""
            say(f"of {ran} candidates none fails: all that is expected holds{told}{more}")
        elif folder:
            for number, text in enumerate(texts, 1):
                folder.text(f"worst-{number}.toml", text)
                if service := findings[number - 1].small.get("served"):
                    folder.text(_trace(number), lines(service, duration))
            folder.finish(Made("seek", [({}, text) for text in texts], FRESH))
            if not as_json and not scenario.controllers:
                say(f"again: narrows check {output}")
    return bool(findings)


def text_of(trial: Trial, finding: Finding, number: int) -> str:
    """Return what was found as a scenario, with what was measured above it.

    What its bottleneck serves, if that was bred, is in a file beside it, by the finding's number.
    """
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / _trace(number) if trial.space.served else None
        scenario = trial.scenario(finding.small, trace)
        assert scenario is not None
        text = scenario.to_toml().replace(folder + os.sep, "")
    return "\n".join([*(f"# {line}" for line in _said(trial, finding)), text])


def _trace(number: int) -> str:
    return f"worst-{number}.trace"


def _said(trial: Trial, finding: Finding) -> Iterator[str]:
    outcome = finding.small_outcome
    place = trial.names.index(outcome.name)
    _, bound, relative, _, kind, *_ = trial.base.checked.expectations()[place]
    mean, half = mean_and_interval(outcome.values)
    seen = quantity(kind, mean, half)
    amount = sum(outcome.bounds) / len(outcome.bounds)
    limit = f"{bound}, which is {quantity(kind, amount)}" if relative else bound
    yield f"{outcome.name} is {seen} under {len(outcome.values)} fresh seeds; expected {limit}"


def _record(finding: Finding, text: str) -> dict[str, Any]:
    outcome = finding.small_outcome
    told = {"name": outcome.name, "values": outcome.values, "bounds": outcome.bounds}
    settings, small = (_without_service(it) for it in (finding.settings, finding.small))
    return {"settings": settings, "small": small, **told, "scenario": text}


def _without_service(settings: Settings) -> Settings:
    """Return settings without what is in the trace."""
    return {name: value for name, value in settings.items() if name != "served"}
