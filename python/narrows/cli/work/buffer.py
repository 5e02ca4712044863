"""`narrows buffer`: the scenario that is asked, and what is printed and written of the answers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

from narrows import _core
from narrows.advisor import FRESH, Advisor, Look, curve, look
from narrows.buffer import LEAST, Answer, Part, answer
from narrows.buffer_figure import SOLD
from narrows.check import Verdict
from narrows.cli.chips import CONGESTED, Chip
from narrows.cli.options import rate_of
from narrows.cli.work.compare import mixture
from narrows.cli.work.printing import finish, folder_of
from narrows.cli.work.score import KEPT, goes_on
from narrows.errors import Error
from narrows.files import Output
from narrows.made import Made
from narrows.metrics import WORDS, quantity
from narrows.networks import dumbbell
from narrows.scenario import Scenario
from narrows.score.store import Store
from narrows.targets import Target, check_searched, share_of, targets_of
from narrows.terminal import console, put, say
from narrows.theory.buffers import Link, linux_burst, rules

# The share of a window that laws keep after a loss, for rules; 1/2 for others.
KEPT_SHARE = {
    "cubic": 0.7,
    "reno": 0.5,
    "compound": 0.5,
    "scalable": 0.875,
    "bic": 0.8,
    "ltcp": 0.85,
}
# Seconds in which BBR probes often, and those that must do for so many flows in runs of so many
# packets a minute: two of its ten seconds between two looks for the RTT.
LONG, SHORTER, MANY_BBR, DEAR = 60.0, 20.0, 32, 2e7
# Seconds within which all have begun, and for which is measured at the least.
BEGUN, MEASURED = 1.0, 6.0
# How many of CUBIC's rises are waited for and measured, and how many seconds the longest is taken
# to last. After one, flows are still in step: 250 flows over 5 Gbps and a buffer of 1060 packets
# have 0.92 of the link from 3 s on, 0.97 from 7 s, 0.984 from 14 s and 0.989 from 28 s on.
WAITED_FOR, RISES, LONGEST_RISE = 3.0, 1.5, 10.0
# CUBIC's C, in packets/s³ (RFC 9438, §4.1).
CUBIC_C = 0.4
# The part of a run that is not measured, where no rise asks for more.
UNMEASURED = 0.3
LEAST_TRIPS = 20
# Which option fills which field of the scenario.
OPTIONS = {
    r"expect\.\S+?": "--target",
    r"dumbbell\.rate": "--rate",
    r"dumbbell\.rtt": "--rtt",
    r"dumbbell\.queue": "--queue",
    r"dumbbell\.buffer": "--most",
    r"flows\[\d+\]\.cc": "--cc",
    r"flows\[\d+\]\.pacing": "--pacing",
    r"flows\[\d+\]\.quantum": "--quantum",
    r"duration": "--duration",
}
# Bytes of a packet's payload, with time stamps.
SEGMENT = 1448
# Packets of the largest burst: 64 KiB of 1448 bytes are 45, BIG TCP's 512 kB 353.
MOST_BURST = 1000
# Laws with a transport of their own, whose packets leave one by one.
OWN_TRANSPORT = ("etcp", "etcp-rate", "etcp-sqrt", "etcp-unit")
# A lack below this is told in packets.
FACTOR = 1.1
# Timeouts of a flow in a second above which windows are no sawtooth: one in a minute.
MANY_TIMEOUTS = 1 / 60
# Name, source, packets and doubt of a rule, as `rules` yields them.
Told = tuple[str, str, float, str]
# A part of a link says where to begin if it has this many flows and a run this many packets; the
# second part is so many times larger, and the link again as much at least.
PART_FLOWS, PART_PACKETS, PARTS_APART, WORTH = 32, 1e6, 4, 8
# Short flows, and their bytes on average; as many may be busy as arrive in so many of the longest
# RTTs, but so many at least.
SHORT, SHORT_BYTES, SHORT_RTTS, FEWEST_SHORT = "web-search:max=1MB", 125e3, 12.5, 1000


class Guess(NamedTuple):
    """Where to begin to search."""

    packets: float
    is_near: bool


@dataclass(frozen=True)
class Load:
    """What the senders are like, and what is beside them."""

    pacing: str | None
    queue: str
    quantum: str | None
    short: float | None
    two_way: bool

    @property
    def packets(self) -> int | None:
        """The packets of a burst, if they are said as a number."""
        if self.quantum in (None, "auto", "linux"):
            return None
        size = re.fullmatch(r"(\d+)(kB|KiB)", self.quantum)
        if not size and not self.quantum.isdecimal():
            known = "packets, a size in kB or KiB, auto nor linux; try 45 or 64KiB"
            raise Error(f'--quantum: "{self.quantum}" is neither {known}')
        kilo = 1024 if size and size[2] == "KiB" else 1000
        packets = int(size[1]) * kilo // SEGMENT if size else int(self.quantum)
        if not 1 <= packets <= MOST_BURST:
            raise Error(f"--quantum: {packets} is not from 1 to {MOST_BURST} packets; try 45")
        return packets

    def fields(self) -> dict[str, Any]:
        """Return the fields of each group of flows."""
        quantum = None if self.quantum == "linux" else self.quantum
        said: dict[str, Any] = {"pacing": self.pacing, "quantum": quantum}
        if self.packets:
            said["quantum"] = self.packets
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
        low, dots, high = self.rtt.partition("..")
        if dots and not high:
            raise Error(f'--rtt: "{self.rtt}" has no end; try 20ms..80ms')
        ends = _core.seconds("--rtt", low), _core.seconds("--rtt", high or low)
        if ends[0] <= 0 or ends[1] < ends[0]:
            raise Error(f'--rtt: "{self.rtt}" is no RTT, nor a range of them; try 20ms..80ms')
        return ends

    @property
    def trips(self) -> str:
        """The RTTs in milliseconds, for people."""
        low, high = self.rtts
        return f"{low * 1e3:g}" if low == high else f"{low * 1e3:g} to {high * 1e3:g}"

    @property
    def packets_per_second(self) -> float:
        """How many full packets the link carries."""
        return rate_of("--rate", self.rate) / 12e3

    def groups(self, cc: str, flows: int | None) -> list[dict[str, Any]]:
        """Return the groups of flows, whose RTTs are spread over the range."""
        low, high = self.rtts
        said = [part.partition("*")[0] for part in cc.split("/")]
        counted = sum(int(it) for it in said if it.isdecimal())
        parts = mixture(cc, flows or counted or 100)
        spread = {"rtt_spread": f"{(high - low) * 1e3:g}ms"} if high > low else {}
        # All have begun before it is measured.
        length = _core.seconds("--duration", self.duration) if self.duration else LONG
        starts = f"{min(BEGUN, length / 4):g}s"
        return [
            {"cc": law, "count": count, "start_spread": starts, **spread, **self.load.fields()}
            for law, count in parts
            if count
        ]

    def rest(self, groups: Sequence[dict[str, Any]]) -> tuple[float, float]:
        """Return from when on windows are out of step, and until when that is to be measured.

        In seconds. Slow starts end for all flows at once; windows are out of step when CUBIC has
        come back some times to where it was (RFC 9438, §4.2, eq. 2).
        """
        flows = sum(group["count"] for group in groups)
        window = self.packets_per_second * self.rtts[1] / flows
        rise = min(math.cbrt(window * (1 - KEPT_SHARE["cubic"]) / CUBIC_C), LONGEST_RISE)
        waited = math.ceil(10 * (BEGUN + WAITED_FOR * rise)) / 10
        return waited, math.ceil(waited + max(MEASURED, RISES * rise))

    def times(self, groups: Sequence[dict[str, Any]]) -> tuple[float, float]:
        """Return how long a run is, and from when on it is measured, in seconds.

        Until windows have rested, for many RTTs, and for several probes of BBR.
        """
        if self.duration:
            given, least = _core.seconds("--duration", self.duration), LEAST_TRIPS * self.rtts[1]
            if given < least:
                raise Error(
                    f"--duration: {self.duration} is less than {LEAST_TRIPS} of the largest round "
                    f"trips, in which windows do not come to rest; try {least:g}s"
                )
            return given, UNMEASURED * given
        bbr = sum(group["count"] for group in groups if "bbr" in group["cc"])
        is_dear = bbr >= MANY_BBR and self.packets_per_second * LONG > DEAR
        probes = 0.0 if bbr == 0 else SHORTER if is_dear else LONG
        waited, rested = self.rest(groups)
        length = max(10.0, 100 * self.rtts[1], probes, rested)
        return length, max(UNMEASURED * length, waited)

    def scenario(self, groups: list[dict[str, Any]], packets: str = "100p") -> Scenario:
        """Return the scenario with a buffer."""
        seconds, from_when = self.times(groups)
        beside: list[dict[str, Any]] = []
        if self.load.short is not None:
            beside.append({"name": "short", "cc": groups[0]["cc"], **self.short(self.load.short)})
        if self.load.two_way:
            beside += [group | {"reverse": True} for group in groups]
        low = f"{self.rtts[0] * 1e3:g}ms"
        length, warmup = f"{seconds:g}s", f"{from_when:g}s"
        more = {"queue": self.load.queue, "duration": length}
        base = dumbbell(self.rate, low, packets, flows=[*groups, *beside], **more)  # type: ignore[arg-type]
        return base.with_(warmup=warmup, sample="0s")

    def short(self, load: float) -> dict[str, Any]:
        """Return how short flows arrive that are such a share of the load."""
        arrive = load * rate_of("--rate", self.rate) / 8 / SHORT_BYTES
        count = max(FEWEST_SHORT, math.ceil(arrive * SHORT_RTTS * self.rtts[1]))
        return {"count": count, "arrivals": {"sizes": SHORT, "load": load}}

    def parts(self, groups: Sequence[dict[str, Any]], targets: Sequence[Target]) -> list[Part]:
        """Return two parts of the link, the smaller first; none if runs are short."""
        length, _ = self.times(groups)
        packets, flows = self.packets_per_second * length, sum(it["count"] for it in groups)
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
        most = packets_of(scenario.with_({"dumbbell.buffer": self.most}))
        return Part(factor, Advisor(scenario, targets, most, Store(self.cache / KEPT)))

    def link(self, groups: Sequence[dict[str, Any]], targets: Sequence[Target]) -> Link:
        """Return what rules are asked of: the first utilisation that is a target, or 0.98."""
        wanted = [share_of(it) for it in targets if it.name.endswith("utilisation")]
        target = min(wanted[0], 0.9999) if wanted else 0.98
        flows = sum(group["count"] for group in groups)
        low, high = self.rtts
        bits = rate_of("--rate", self.rate)
        law = base_of(groups[0]["cc"])
        pacing = self.load.pacing or ""
        usual = linux_burst(bits / flows, low)
        if law in OWN_TRANSPORT:
            usual = 1
        if pacing in ("exponential", "uniform") or (law in OWN_TRANSPORT and pacing != "even"):
            # E-TCP's gaps are exponential.
            pacing = "random"
        if groups[0]["cc"].endswith("+quic"):
            usual = 1
        burst = self.load.packets or usual
        rtts = np.linspace(low, high, flows)
        bbr = sum(it["count"] for it in groups if base_of(it["cc"]).startswith("bbr")) / flows
        kept, halves = KEPT_SHARE.get(law, 0.5), law in KEPT_SHARE
        kind = self.load.queue.partition(":")[0]
        link = Link(bits / 12e3, rtts, kept, burst, target, law, bbr, halves, pacing, kind)
        # No burst is larger than the window that it is of.
        return replace(link, burst=min(burst, max(1, round(link.window))))

    def guess(self, target: Target, told: Sequence[Told], link: Link, most: float) -> Guess:
        """Return where to begin to search, in packets."""
        if self.load.queue == "drop-tail" and "delay" in target.name:
            try:
                # No packet waits longer than what fits into the bound.
                return Guess(link.rate * _core.seconds("", target.bound.lstrip("<= ")), True)
            except Error:
                pass
        likely = [packets for _, _, packets, doubt in told if not doubt and 1 <= packets < most]
        likely = likely or [packets for _, _, packets, _ in told if 1 <= packets < most]
        usual = math.exp(float(np.mean(np.log(likely)))) if likely else math.sqrt(LEAST * most)
        return Guess(usual, False)


def base_of(cc: str) -> str:
    """Return a law's own name.

    Examples
    --------
    >>> base_of("bbr1:gain=2+hystart")
    'bbr1'
    """
    return cc.partition(":")[0].partition("+")[0]


def advise(ask: Ask, chip: Chip | None, as_json: bool, output: Path | None, force: bool) -> bool:
    """Find the buffers, print and write them; return whether one meets all targets."""
    groups = ask.groups(ask.cc, ask.flows)
    scenario = ask.scenario(groups)
    targets = targets_of(ask.target)
    link = ask.link(groups, targets)
    told = [*rules(link), *_shares(chip)]
    most = packets_of(scenario.with_({"dumbbell.buffer": ask.most}))
    if most < LEAST:
        raise Error(f"--most: {ask.most} is less than the {LEAST} packets that are tried first")
    store = Store(ask.cache / KEPT)
    length, from_when = scenario.checked.times()
    advisor = Advisor(scenario, targets, most, store, link.rate * (length - from_when))
    check_searched(targets)
    if not as_json:
        say(_assumed(ask, groups, link, scenario))
    with folder_of(output, force) as folder:
        try:
            parts = ask.parts(groups, targets)
            answers = []
            for target in filter(lambda it: it.is_searched, targets):
                begin, is_near = ask.guess(target, told, link, most)
                answers.append(answer(advisor, target, begin, parts, is_near))
            looks = _looks(advisor, answers)
        except KeyboardInterrupt:
            say(goes_on(ask.cache / KEPT, list(scenario.controllers.values())))
            raise
        found = Found(answers, looks, advisor, link, told, chip)
        if folder:
            _write(folder, found, quiet=as_json)
        if as_json:
            _print_json(found)
        else:
            _print(found)
    return found.is_met


def _shares(chip: Chip | None) -> list[Told]:
    """Return what ports of a chip may hold, as rules are told."""
    if chip is None:
        return []
    ports = {
        count: "one congested port" if count == 1 else f"each of {count}" for count in CONGESTED
    }
    source = f"dynamic thresholds, α = {chip.alpha:g}"
    return [
        (f"{chip.name}, {of}", source, float(math.floor(chip.share(count))), SOLD)
        for count, of in ports.items()
    ]


def _looks(advisor: Advisor, answers: Sequence[Answer]) -> list[Look]:
    """Judge what was not searched for where the others are met, at the least and at the most."""
    least, greatest = _range(answers)
    if not max(LEAST, least) <= greatest or math.isinf(least):
        return []
    ends = [max(LEAST, math.ceil(least)), math.floor(min(greatest, advisor.most))]
    others = [it for it in advisor.targets if not it.is_searched]
    return [look(advisor, it, size) for it in others for size in dict.fromkeys(ends)]


def packets_of(scenario: Scenario) -> float:
    """Return what the first link of a scenario buffers."""
    [(_, text), *_] = scenario.checked.buffers()
    return float(text.partition("p")[0])


def _assumed(ask: Ask, groups: Sequence[dict[str, Any]], link: Link, scenario: Scenario) -> str:
    seconds, from_when = scenario.checked.times()
    laws = "/".join(f"{group['count']}*{group['cc']}" for group in groups)
    waited, _ = ask.rest(groups)
    enough = math.ceil(waited / UNMEASURED)
    early = (
        f", where windows are in step until {waited:g} s: leave --duration out or give {enough}s"
    )
    return (
        f"{laws} over {ask.rate}{beside(ask.load)}, {ask.trips} ms: windows of {link.window:.3g} "
        f"packets, bursts of {link.burst}; runs of {seconds:g} s, measured from {from_when:g} s on"
        f"{early if from_when < waited else ''}"
    )


def beside(load: Load) -> str:
    """Return what a load has that is not usual, for people."""
    said = [
        f" with {load.queue}" if load.queue != "drop-tail" else "",
        f" beside short flows of {load.short:g} of it" if load.short is not None else "",
        " both ways" if load.two_way else "",
    ]
    return "".join(said)


def _range(answers: Sequence[Answer]) -> tuple[float, float]:
    """Return the least and the greatest buffer that meet all for sure: the safe ends."""
    least = [it.high if not it.target.is_growing else it.until or 0.0 for it in answers]
    greatest = [
        it.low if it.target.is_growing else math.inf if it.until is None else it.until
        for it in answers
    ]
    ends = max(least, default=0.0), min(greatest, default=math.inf)
    return (math.nan, math.nan) if any(map(math.isnan, [*least, *greatest])) else ends


@dataclass(frozen=True)
class Found:
    """All that a search found.

    Attributes
    ----------
    answers, looks
        Of the targets that were searched for, and of the others.
    advisor
        What ran.
    link
        What rules were asked of.
    told
        What they said.
    chip
        Whose ports were asked for, if any were.
    """

    answers: list[Answer]
    looks: list[Look]
    advisor: Advisor
    link: Link
    told: Sequence[Told]
    chip: Chip | None

    @property
    def is_met(self) -> bool:
        """Whether some buffer meets all for sure."""
        least, greatest = _range(self.answers)
        held: dict[int, bool] = {}
        for it in self.looks:
            held[it.packets] = held.get(it.packets, True) and it.verdict is Verdict.HOLDS
        is_looked = not held or any(held.values())
        return max(least, LEAST) <= greatest and not math.isinf(least) and is_looked

    @property
    def safe(self) -> tuple[float, float] | None:
        """The least and the greatest buffer between which all is met for sure, if there are."""
        holds = all(it.verdict is Verdict.HOLDS for it in self.looks)
        return _range(self.answers) if self.is_met and holds else None

    @cached_property
    def seen(self) -> list[dict[str, Any]]:
        """What runs had at each buffer, as `curve` returns it."""
        return curve(self.advisor)

    def used(self, packets: float) -> float:
        """Return the utilisation with a buffer, between those that were run; NaN beyond them."""
        rows = self.seen
        sizes = [math.log(row["buffer"]) for row in rows]
        if not (rows and packets > 0 and sizes[0] <= math.log(packets) <= sizes[-1]):
            return math.nan
        return float(np.interp(math.log(packets), sizes, [row["utilisation"] for row in rows]))

    @property
    def conclusion(self) -> str:
        """What follows, in a sentence."""
        least, greatest = _range(self.answers)
        if math.isnan(least):
            return "what was not found cannot be said to be met"
        if not max(least, LEAST) <= greatest or math.isinf(least):
            return "no buffer meets all for sure"
        what = "all that was searched for is met" if self.looks else "all is met"
        if least == 0 and math.isinf(greatest):
            return f"with any buffer {what}"
        if any(it.doubt for it in self.answers):
            what += ", but see the doubts above"
        if math.isinf(greatest):
            return f"from {math.ceil(least)} packets on {what}"
        return f"from {max(LEAST, math.ceil(least))} to {math.floor(greatest)} packets {what}"

    @property
    def notes(self) -> list[str]:
        """What else is to be known of the answer, a sentence each."""
        return [*self._apart(), *self._timeouts(), *self._of_chip()]

    def _apart(self) -> Iterator[str]:
        """Yield what targets that exclude each other are missed by, at the ends of each."""
        least, greatest = _range(self.answers)
        if math.isnan(least) or math.isinf(least) or least <= greatest:
            return
        rows = self.seen
        for end, is_growing in ((least, True), (max(greatest, LEAST), False)):
            row = min(rows, key=lambda it: abs(math.log(it["buffer"] / end)))
            missed = [it.target for it in self.answers if it.target.is_growing is is_growing]
            values = (
                f"{it.name} is {cell(self.advisor.kinds[it.name], row[it.name])}" for it in missed
            )
            yield f"with {row['buffer']} packets {' and '.join(values)}"

    def _timeouts(self) -> Iterator[str]:
        """Yield whether flows time out at the least buffer: rules take windows for sawteeth."""
        least, _ = _range(self.answers)
        if not least < math.inf:
            return
        # Fresh seeds have met it there; of any buffer the smallest has been looked at.
        size = max(LEAST, math.ceil(least))
        if least == 0 and size not in self.advisor.asked():
            return
        often = self.advisor.timeouts(size)
        if often > MANY_TIMEOUTS:
            yield (
                f"with {size} packets a flow times out every {1 / often:.2g} s: rules, which take "
                "windows for sawteeth, do not hold there"
            )

    def _of_chip(self) -> Iterator[str]:
        """Yield whether a congested port of the chip may hold what is needed."""
        least, _ = _range(self.answers)
        if self.chip is None or not self.is_met or not least > 0:
            return
        share, needed = math.floor(self.chip.share(1)), math.ceil(least)
        if share >= needed:
            told = "enough"
        elif share > 0 and needed / share >= FACTOR:
            told = f"short by a factor of {needed / share:.2g}"
        else:
            told = f"{needed - share} too few"
        yield f"a congested port of {self.chip.name} may hold {share} packets: {told}"


def _print(found: Found) -> None:
    table = Table("target", "buffer", "interval", "ms", "MB", "runs", "", box=None)
    for it in found.answers:
        table.add_row(*_row(it, found.link))
    for one in found.looks:
        kind = found.advisor.kinds[one.target.name]
        said = f"{one.verdict}: {cell(kind, one.mean) or 'none'}"
        name = f"{one.target.name} {one.target.bound}"
        table.add_row(name, f"with {one.packets}p", said, "", "", "", "")
    console().print(table)
    for sentence in (found.conclusion, *found.notes):
        put(sentence)
    advisor = found.advisor
    seen = Table("buffer", *(WORDS.get(name, name) for name in advisor.names), "seeds", box=None)
    for row in found.seen:
        cells = [cell(advisor.kinds[name], row[name]) for name in advisor.names]
        seen.add_row(f"{row['buffer']}p", *cells, str(row["seeds"]))
    console().print("", seen)
    used = WORDS.get("utilisation", "utilisation")
    table = Table("rule", "packets", "ms", used, "source", "", box=None)
    for name, source, packets, doubt in sorted(found.told, key=lambda it: it[2]):
        there = cell(advisor.kinds["utilisation"], found.used(packets))
        table.add_row(name, f"{packets:.0f}", _ms(packets, found.link), there, source, doubt)
    console().print("", table)


def cell(kind: str, value: float) -> str:
    """Return a number for people; empty if there is none."""
    return "" if math.isnan(value) else quantity(kind, value)


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
    # A whole buffer that meets it, and so the interval's ends.
    toward, word = (math.floor, "at most") if it.target.is_growing else (math.ceil, "at least")
    return [
        name,
        f"{word} {toward(it.packets)}p",
        f"{toward(it.low)} to {toward(it.high)}",
        _ms(it.packets, link),
        f"{it.packets * 1500 / 1e6:.3g}",
        str(it.runs),
        it.doubt,
    ]


def _ms(packets: float, link: Link) -> str:
    return f"{packets / link.rate * 1e3:.3g}"


def _print_json(found: Found) -> None:
    for it in found.answers:
        record = {
            "target": it.target.name,
            "bound": it.target.bound,
            "packets": finite(it.packets),
        }
        record |= {"low": finite(it.low), "high": finite(it.high), "runs": it.runs}
        put(json.dumps(record | {"seeds": it.seeds, "doubt": it.doubt, "until": it.until}))
    for one in found.looks:
        record = {"looked": one.target.name, "condition": one.target.bound, "at": one.packets}
        put(json.dumps(record | {"mean": finite(one.mean), "verdict": one.verdict}))
    for row in _plain(found.seen):
        put(json.dumps({"seen": row}))
    for name, source, packets, doubt in found.told:
        record = {"rule": name, "source": source, "packets": finite(packets), "doubt": doubt}
        put(json.dumps(record | {"utilisation": finite(found.used(packets))}))
    least, greatest = found.safe or (math.nan, math.nan)
    link = found.link
    told: dict[str, Any] = {"conclusion": found.conclusion, "met": found.is_met}
    told |= {"notes": found.notes, "least": finite(least), "greatest": finite(greatest)}
    told |= {"flows": link.flows, "bdp": link.bdp, "window": link.window, "burst": link.burst}
    put(json.dumps(told))


def _plain(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: finite(value) for name, value in row.items()} for row in rows]


def finite(value: float) -> float | None:
    """Return a number for programs; None if there is none."""
    return value if math.isfinite(value) else None


def _write(folder: Output, found: Found, quiet: bool) -> None:
    from narrows import buffer_figure, plot

    advisor, seen = found.advisor, found.seen
    figure = buffer_figure.draw(advisor, found.answers, found.link, found.told, found.safe)
    folder.data("buffer.png", plot.png(figure))
    folder.text("seen.jsonl", "\n".join(map(json.dumps, _plain(seen))) + "\n")
    sizes = advisor.asked()
    cases = [({"buffer": f"{size}p"}, advisor.scenario(size).to_toml()) for size in sizes]
    seeds = sorted({seed for size in sizes for seed in advisor.seeds_of(size)} | set(FRESH))
    finish(folder, Made("buffer", cases, seeds), quiet)
