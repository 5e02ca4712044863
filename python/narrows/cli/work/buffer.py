"""`narrows buffer`: the scenario that is asked, and what is printed and written of the answers."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from narrows import _core
from narrows.buffer import FRESH, LEAST, Advisor, Answer, Part, Target, answer, curve, targets_of
from narrows.check import Verdict, judge
from narrows.cli.options import rate_of, split_list
from narrows.cli.work.compare import mixture
from narrows.cli.work.printing import finish, folder_of
from narrows.cli.work.score import KEPT, goes_on
from narrows.errors import Error
from narrows.files import Output
from narrows.made import Made
from narrows.metrics import quantity
from narrows.networks import dumbbell
from narrows.scenario import Scenario
from narrows.score.store import Store
from narrows.terminal import console, put, say
from narrows.theory.buffers import Link, linux_burst, rules

# The share of a window that laws keep after a loss, for rules; 1/2 for others.
KEPT_SHARE = {"cubic": 0.7, "reno": 0.5, "scalable": 0.875, "bic": 0.8, "ltcp": 0.85}
LONG = 60.0
SERIES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
SEEDS = [1, 2, 3]
# A part of a link says where to begin if it has this many flows and a run this many packets; the
# second part is so many times larger, and the link again as much at least.
PART_FLOWS, PART_PACKETS, PARTS_APART, WORTH = 32, 1e6, 4, 8


@dataclass(frozen=True)
class Load:
    """What the senders are like, and what is beside them."""

    pacing: str | None
    queue: str
    quantum: str | None
    short: float | None
    two_way: bool

    def fields(self) -> dict[str, Any]:
        """Return the fields of each group of flows."""
        said: dict[str, Any] = {"pacing": self.pacing, "quantum": self.quantum}
        if self.quantum and self.quantum.isdigit():
            said["quantum"] = int(self.quantum)
        return {name: value for name, value in said.items() if value is not None}


@dataclass(frozen=True)
class Ask:
    """What a command was asked."""

    rate: str
    rtt: str
    flows: int | None
    cc: str
    target: str
    load: Load
    duration: str | None
    most: str
    cache: Path

    @property
    def rtts(self) -> tuple[float, float]:
        """The least and the largest RTT in seconds."""
        low, _, high = self.rtt.partition("..")
        ends = _core.seconds("--rtt", low), _core.seconds("--rtt", high or low)
        if ends[0] <= 0 or ends[1] < ends[0]:
            raise Error(f'--rtt: "{self.rtt}" is no RTT, nor a range of them; try 20ms..80ms')
        return ends

    def groups(self, cc: str, flows: int | None) -> list[dict[str, Any]]:
        """Return the groups of flows, whose RTTs are spread over the range."""
        low, high = self.rtts
        said = [part.partition("*")[0] for part in cc.split("/")]
        counted = sum(int(it) for it in said if it.isdigit())
        parts = mixture(cc, flows or counted or 100)
        spread = {"rtt_spread": f"{(high - low) * 1e3:g}ms"} if high > low else {}
        return [
            {"cc": law, "count": count, "start_spread": "1s", **spread, **self.load.fields()}
            for law, count in parts
            if count
        ]

    def seconds(self, groups: Sequence[dict[str, Any]]) -> float:
        """Return how long a run is: many RTTs, and several probes of BBR."""
        if self.duration:
            return _core.seconds("--duration", self.duration)
        has_bbr = any("bbr" in group["cc"] for group in groups)
        return max(10.0, 100 * self.rtts[1], LONG if has_bbr else 0.0)

    def scenario(self, groups: list[dict[str, Any]], packets: str = "100p") -> Scenario:
        """Return the scenario with a buffer."""
        seconds = self.seconds(groups)
        beside: list[dict[str, Any]] = []
        if self.load.short is not None:
            arrivals = {"sizes": "web-search:max=1MB", "load": self.load.short}
            beside.append({"name": "short", "cc": groups[0]["cc"], "arrivals": arrivals})
        if self.load.two_way:
            beside += [group | {"reverse": True} for group in groups]
        low = f"{self.rtts[0] * 1e3:g}ms"
        length, warmup = f"{seconds:g}s", f"{0.3 * seconds:g}s"
        more = {"queue": self.load.queue, "duration": length}
        base = dumbbell(self.rate, low, packets, flows=[*groups, *beside], **more)  # type: ignore[arg-type]
        return base.with_(warmup=warmup, sample="0s")

    def parts(self, groups: Sequence[dict[str, Any]], targets: Sequence[Target]) -> list[Part]:
        """Return two parts of the link, the smaller first; none if runs are short."""
        bits = rate_of("--rate", self.rate)
        packets, flows = bits / 12e3 * self.seconds(groups), sum(it["count"] for it in groups)
        largest = min(packets / PART_PACKETS, flows / PART_FLOWS)
        if largest < PARTS_APART * WORTH:
            return []
        return [self._part(groups, targets, factor) for factor in (largest, largest / PARTS_APART)]

    def _part(
        self, groups: Sequence[dict[str, Any]], targets: Sequence[Target], factor: float
    ) -> Part:
        rate = f"{round(rate_of('--rate', self.rate) / factor)}bps"
        fewer = [it | {"count": max(1, round(it["count"] / factor))} for it in groups]
        scenario = replace(self, rate=rate).scenario(fewer)
        most = _packets(scenario.with_({"dumbbell.buffer": self.most}))
        return Part(factor, Advisor(scenario, targets, most, Store(self.cache / KEPT)))

    def link(self, groups: Sequence[dict[str, Any]], target: float) -> Link:
        """Return what rules are asked of."""
        flows = sum(group["count"] for group in groups)
        low, high = self.rtts
        bits = rate_of("--rate", self.rate)
        law = groups[0]["cc"].partition(":")[0].partition("+")[0]
        said = self.load.quantum
        auto = linux_burst(bits / flows, low)
        burst = int(said) if said and said.isdigit() else auto
        if self.load.pacing in ("even", "exponential", "uniform"):
            burst = 1
        rtts = np.linspace(low, high, flows)
        return Link(bits / 12e3, rtts, KEPT_SHARE.get(law, 0.5), burst, target, law)


def advise(ask: Ask, as_json: bool, output: Path | None, force: bool) -> bool:
    """Find the buffers, print and write them; return whether one meets all targets."""
    groups = ask.groups(ask.cc, ask.flows)
    scenario = ask.scenario(groups)
    targets = targets_of(ask.target)
    wanted = [_share(it.bound) for it in targets if it.name == "utilisation"]
    link = ask.link(groups, min(wanted[0], 0.9999) if wanted else 0.98)
    told = list(rules(link))
    most = _packets(scenario.with_({"dumbbell.buffer": ask.most}))
    likely = [packets for _, _, packets, doubt in told if not doubt and packets < most]
    guess = math.exp(float(np.mean(np.log(likely)))) if likely else math.sqrt(LEAST * most)
    advisor = Advisor(scenario, targets, most, Store(ask.cache / KEPT))
    if not as_json:
        say(_assumed(ask, groups, link, scenario))
    with folder_of(output, force) as folder:
        try:
            parts = ask.parts(groups, targets)
            answers = [answer(advisor, target, guess, parts) for target in targets]
        except KeyboardInterrupt:
            say(goes_on(ask.cache / KEPT, list(scenario.controllers.values())))
            raise
        if as_json:
            _print_json(answers, advisor, told)
        else:
            _print(answers, advisor, link, told)
        if folder:
            _write(folder, answers, advisor, link, told, quiet=as_json)
    return _is_met(answers)


def _share(bound: str) -> float:
    """Return the number of a bound of utilisation, from 0.9 or from 90%."""
    text = bound.lstrip("<>= ")
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise Error(f'--target: "{bound}" is no number to search for; try >= 0.98') from None


def _packets(scenario: Scenario) -> float:
    [(_, text), *_] = scenario.checked.buffers()
    return float(text.partition("p")[0])


def _assumed(ask: Ask, groups: Sequence[dict[str, Any]], link: Link, scenario: Scenario) -> str:
    low, high = ask.rtts
    seconds, _ = scenario.checked.times()
    laws = "/".join(f"{group['count']}*{group['cc']}" for group in groups)
    return (
        f"{laws} over {ask.rate}, {low * 1e3:g} to {high * 1e3:g} ms: windows of "
        f"{link.window:.0f} packets, bursts of {link.burst}; runs of {seconds:g} s"
    )


def _range(answers: Sequence[Answer]) -> tuple[float, float]:
    """Return the least and the greatest buffer that meet all."""
    least = max((it.packets for it in answers if not it.target.is_growing), default=0.0)
    greatest = min((it.packets for it in answers if it.target.is_growing), default=math.inf)
    return least, greatest


def _is_met(answers: Sequence[Answer]) -> bool:
    least, greatest = _range(answers)
    return max(least, LEAST) <= greatest and not math.isinf(least)


def _print(
    answers: Sequence[Answer],
    advisor: Advisor,
    link: Link,
    told: Sequence[tuple[str, str, float, str]],
) -> None:
    table = Table("target", "buffer", "interval", "ms", "MB", "runs", "", box=None)
    for it in answers:
        table.add_row(*_row(it, link))
    console().print(table)
    least, greatest = _range(answers)
    if any(math.isnan(it.packets) for it in answers):
        put("what was not found cannot be said to be met")
    elif not _is_met(answers):
        put("no buffer meets all")
    elif least == 0 and math.isinf(greatest):
        put("any buffer meets all")
    elif math.isinf(greatest):
        put(f"from {math.ceil(least)} packets on all is met")
    else:
        put(f"from {max(LEAST, math.ceil(least))} to {math.floor(greatest)} packets all is met")
    seen = Table("buffer", *(it.name for it in advisor.targets), "seeds", box=None)
    for row in curve(advisor):
        cells = [quantity(advisor.kinds[it.name], row[it.name]) for it in advisor.targets]
        seen.add_row(f"{row['buffer']}p", *cells, str(row["seeds"]))
    console().print("", seen)
    table = Table("rule", "packets", "ms", "source", "", box=None)
    for name, source, packets, doubt in sorted(told, key=lambda it: it[2]):
        table.add_row(name, f"{packets:.0f}", _ms(packets, link), source, doubt)
    console().print("", table)


def _row(it: Answer, link: Link) -> list[str]:
    name = f"{it.target.name} {it.target.bound}"
    if it.packets == 0:
        size = "none" if it.target.is_growing else "any"
        return [name, size, "", "", "", str(it.runs), f"from {LEAST} packets on"]
    if math.isinf(it.packets):
        size = "any" if it.target.is_growing else "none"
        return [name, size, "", "", "", str(it.runs), "up to the largest tried"]
    if math.isnan(it.packets):
        return [name, "?", "", "", "", str(it.runs), it.doubt]
    word = "at most" if it.target.is_growing else "at least"
    return [
        name,
        f"{word} {it.packets:.0f}p",
        f"{it.low:.0f} to {it.high:.0f}",
        _ms(it.packets, link),
        f"{it.packets * 1500 / 1e6:.3g}",
        str(it.runs),
        it.doubt,
    ]


def _ms(packets: float, link: Link) -> str:
    return f"{packets / link.rate * 1e3:.3g}"


def _print_json(
    answers: Sequence[Answer], advisor: Advisor, told: Sequence[tuple[str, str, float, str]]
) -> None:
    for it in answers:
        record = {
            "target": it.target.name,
            "bound": it.target.bound,
            "packets": _number(it.packets),
        }
        record |= {"low": _number(it.low), "high": _number(it.high), "runs": it.runs}
        put(json.dumps(record | {"seeds": it.seeds, "doubt": it.doubt}))
    for row in curve(advisor):
        put(json.dumps({"seen": row}))
    for name, source, packets, doubt in told:
        put(json.dumps({"rule": name, "source": source, "packets": packets, "doubt": doubt}))


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _write(
    folder: Output,
    answers: Sequence[Answer],
    advisor: Advisor,
    link: Link,
    told: Sequence[tuple[str, str, float, str]],
    quiet: bool,
) -> None:
    from narrows import plot

    seen = curve(advisor)
    figure = plot.buffers(seen, answers, advisor.kinds, link, told)
    folder.data("buffer.png", plot.png(figure))
    folder.text("seen.jsonl", "\n".join(map(json.dumps, seen)) + "\n")
    sizes = advisor.asked()
    cases = [({"buffer": f"{size}p"}, advisor.scenario(size).to_toml()) for size in sizes]
    seeds = sorted({seed for size in sizes for seed in advisor.seeds_of(size)} | set(FRESH))
    finish(folder, Made("buffer", cases, seeds), quiet)


def invert(ask: Ask, given: str, as_json: bool) -> None:
    """Print how many flows of which law meet the targets with a buffer that is given."""
    targets = targets_of(ask.target)
    rows = [_least(ask, cc, given, targets) for cc in split_list("--cc", ask.cc)]
    rows.sort(key=lambda row: (row["flows"] is None, row["flows"] or 0, -row["utilisation"]))
    if as_json:
        for row in rows:
            put(json.dumps(row))
        return
    names = list(dict.fromkeys(["utilisation", *(it.name for it in targets)]))
    table = Table("law", "flows", *names, box=None)
    for row in rows:
        flows = f"{row['flows']}" if row["flows"] is not None else f"more than {SERIES[-1]}"
        table.add_row(row["cc"], flows, *(f"{row[name]:.4g}" for name in names))
    console().print(table)
    put(f"the least of {', '.join(map(str, SERIES))} flows that meet {ask.target} with {given}")


def _least(ask: Ask, cc: str, given: str, targets: Sequence[Target]) -> dict[str, Any]:
    """Return the least number of flows of a law that meets all targets with a buffer."""
    names = dict.fromkeys(["utilisation", *(it.name for it in targets)])
    found: dict[str, Any] = {"cc": cc, "flows": None}
    store = Store(ask.cache / KEPT)
    for flows in SERIES:
        groups = ask.groups(cc, flows)
        scenario = ask.scenario(groups, given)
        asked = list({it.name: it for it in (Target("utilisation", ">= 0"), *targets)}.values())
        advisor = Advisor(scenario, asked, math.inf, store)
        packets = round(_packets(scenario))
        advisor.ask([packets], SEEDS)
        values = {it.name: advisor.values(it, packets, SEEDS) for it in asked}
        found |= {name: float(np.mean(values[name])) for name in names}
        bounds = {it.name: [advisor.bound(it)] * len(SEEDS) for it in targets}
        verdicts = [
            judge(advisor.sides[it.name], values[it.name], bounds[it.name], 0.95) for it in targets
        ]
        if all(verdict is Verdict.HOLDS for verdict in verdicts):
            return found | {"flows": flows}
    return found
