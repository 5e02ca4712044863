"""`narrows seek`: what is searched, and what is printed of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrows import own
from narrows.cli.work.printing import folder_of
from narrows.cli.work.score import KEPT, goes_on
from narrows.errors import Error
from narrows.made import Made
from narrows.metrics import quantity
from narrows.networks import dumbbell
from narrows.scenario import Scenario
from narrows.score.store import Store
from narrows.seek.search import FRESH, Effort, Finding, seek
from narrows.seek.space import space_of
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
PAIRS = ("share", "others-share", "harm", "starvation")


@dataclass(frozen=True)
class Ask:
    """What a command was asked to search."""

    file: Path | None
    cc: str | None
    against: str | None
    worst: str
    vary: str
    changes: str
    duration: str | None
    budget: int
    count: int
    seed: int

    def scenario(self) -> Scenario:
        """Return the scenario whose settings vary."""
        if self.file is not None:
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
        base = dumbbell("10Mbps", "50ms", "20p", duration=self.duration or "60s")
        return base.with_(flows=flows, expect=expect, reference=reference)

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
    space = space_of(ask.vary, ask.changes, duration)
    trial = Trial(scenario, space, Store(cache / KEPT))
    effort = Effort()
    with folder_of(output, force) as folder:
        try:
            findings = seek(trial, ask.budget, ask.count, ask.seed, effort)
        except KeyboardInterrupt:
            say(goes_on(cache / KEPT, list(scenario.controllers.values())))
            raise
        texts = [text_of(trial, finding) for finding in findings]
        for finding, text in zip(findings, texts, strict=True):
            put(json.dumps(_record(finding, text)) if as_json else text)
        if not findings:
            ran = effort.tried - effort.refused
            told = f"; {effort.refused} could not be run" if effort.refused else ""
            say(f"of {ran} candidates none fails: all that is expected holds{told}")
        elif folder:
            for number, text in enumerate(texts, 1):
                folder.text(f"worst-{number}.toml", text)
            folder.finish(Made("seek", [({}, text) for text in texts], FRESH))
            if not as_json and not scenario.controllers:
                say(f"again: narrows check {output}")
    return bool(findings)


def text_of(trial: Trial, finding: Finding) -> str:
    """Return what was found as a scenario, with what was measured above it."""
    scenario = trial.scenario(finding.small)
    assert scenario is not None
    return "\n".join([*(f"# {line}" for line in _said(trial, finding)), scenario.to_toml()])


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
    return {"settings": finding.settings, "small": finding.small, **told, "scenario": text}
