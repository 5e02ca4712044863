"""`narrows theory`: the link that is asked, and tables of what formulas and packets say."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from narrows import _core
from narrows.cli.options import rate_of, seconds_of, split_list
from narrows.cli.work.compare import flows_of, mixture
from narrows.cli.work.printing import finish, folder_of
from narrows.errors import Error
from narrows.made import Made
from narrows.networks import dumbbell
from narrows.results import Result, run
from narrows.scenario import Scenario
from narrows.shown import by_group
from narrows.terminal import console, put
from narrows.theory import fluid, mixtures, response, stability, steered
from narrows.theory.bursts import batch_loss
from narrows.theory.fluid_queues import (
    DropTail,
    Link,
    Small,
    Threshold,
    equal_loss,
    poisson_loss,
    power_loss,
)
from narrows.theory.queue import mm1b_loss

BYTES = 1500
# Seconds and round trips that a fluid is solved for unless it is said: half of its most steps.
LONG, MOST_TRIPS = 60.0, 12_500
# What the papers call so, over ns-2's habits.
PAPERS = {"reno": "reno+reno"}
# Response functions know no smaller ones.
LEAST_LOSS = 1e-12
# Below this a buffer has come to rest before a round trip is over.
SMALL = 0.05
# Laws that their routers steer, and these routers.
STEERED = {"xcp": "xcp", "gwa-rate": "gwa-rr"}
QUEUES: dict[str, Callable[[int], Callable[[float], float]]] = {
    "ρ^B": power_loss,
    "M/M/1/B": poisson_loss,
    "M/D/1/B": equal_loss,
}


@dataclass(frozen=True)
class Wire:
    """The link, as it was asked."""

    rate: str
    rtt: str
    buffer: str
    mark: str | None = None

    @property
    def capacity(self) -> float:
        """Packets of 1500 bytes per second."""
        return rate_of("--rate", self.rate) / (8 * BYTES)

    @property
    def seconds(self) -> float:
        """The round trip."""
        return seconds_of("--rtt", self.rtt)

    @property
    def bdp(self) -> float:
        """The bandwidth-delay product in packets."""
        return self.capacity * self.seconds

    def scenario(self, groups: Sequence[tuple[str, int]], duration: str) -> Scenario:
        """Return the same with packets: senders are the papers', whose windows theory has."""
        named = [(PAPERS.get(cc, cc), count) for cc, count in groups]
        flows: list[dict[str, Any]] = [{"cc": cc, "count": count} for cc, count in named]
        more: dict[str, Any] = {"duration": duration, "tcp": "ns2", "packet": f"{BYTES}B"}
        if self.mark:
            more["mark"] = self.mark
        for cc, _ in groups:
            if cc in STEERED:
                more["queue"] = STEERED[cc]
        return dumbbell(self.rate, self.rtt, self.buffer, flows=flows, **more)

    @property
    def packets(self) -> int:
        """What the buffer holds."""
        return self._packets(self.buffer)

    @property
    def threshold(self) -> int | None:
        """What a packet must find to be marked; None if nothing is marked."""
        return self._packets(self.mark) if self.mark else None

    def _packets(self, size: str) -> int:
        link = Wire(self.rate, self.rtt, size)
        [(_, text), *_] = link.scenario([("reno", 1)], "1s").checked.buffers()
        return int(text.partition("p")[0])


def losses(load: str, buffer: int, burst: int, as_json: bool) -> None:
    """Print what queues lose at loads."""
    rows = []
    for text in split_list("--load", load):
        try:
            rho = float(text)
        except ValueError:
            raise Error(f'--load: "{text}" is no number; try 0.9') from None
        if not 0 < rho < 100:
            raise Error(f"--load: {text} is not between 0 and 100; try 0.9")
        rows.append(
            {
                "load": rho,
                "ρ^B": power_loss(buffer)(rho),
                "M/M/1/B": float(mm1b_loss(rho, buffer)),
                "M/D/1/B": float(batch_loss(rho, buffer)),
                f"bursts of {burst}": float(batch_loss(rho, buffer, burst)),
            }
        )
    _print(rows, as_json)


def law_of(text: str) -> fluid.Law:
    """Return the fluid law of a name with settings, like etcp:b=10:p0=0.02.

    Examples
    --------
    >>> law_of("etcp:b=10").window(np.array([7.0]))
    7.0
    """
    name, _, settings = text.partition(":")
    if name in STEERED:
        raise Error(f"--cc: {name} is steered by its routers; only narrows theory fluid knows it")
    if name not in fluid.LAWS:
        known = ", ".join([*fluid.LAWS, *STEERED])
        raise Error(f'--cc: there is no fluid model of "{name}"; known: {known}')
    try:
        pairs = [part.partition("=") for part in settings.split(":") if part]
        return fluid.LAWS[name](**{key: float(value) for key, _, value in pairs})
    except (TypeError, ValueError):
        raise Error(f'--cc: "{settings}" are no settings of {name}\'s fluid model') from None


def stable(wire: Wire, flows: int, cc: str, as_json: bool) -> None:
    """Print by what factor the gain of laws may rise, for each model of the queue."""
    rows, buffer = [], wire.packets
    if wire.bdp < flows:
        raise Error(
            f"--flows: {flows} share {wire.bdp:.3g} packets a round trip, less than one each, "
            "which no window is; try fewer, or a faster link"
        )
    for text in split_list("--cc", cc):
        law = law_of(text)
        if not isinstance(law, fluid.Window):
            raise Error(f'--cc: "{text}" has more state than a window; its loop is not solved here')
        for name, loss in QUEUES.items():
            rows.append({"law": text, "queue": name} | _loop(law, loss(buffer), wire.bdp / flows))
    _print(rows, as_json)
    if not as_json:
        rest = "" if buffer <= SMALL * wire.bdp else "; larger buffers keep a queue that moves"
        put(f"stable where the margin is above 1, in a buffer of {buffer} packets{rest}")


def _loop(law: fluid.Window, loss: Callable[[float], float], share: float) -> dict[str, Any]:
    try:
        loop = stability.one_link(law, loss, share)
    except ValueError:
        return dict.fromkeys(("window", "load", "loss", "margin"), math.nan)
    return {
        "window": loop.window,
        "load": loop.load,
        "loss": loop.loss,
        "margin": loop.margin,
    }


# The window of a law as a function of the loss per packet sent, and of the RTT.
RESPONSES: dict[str, Callable[[float, float], float]] = {
    "reno": lambda p, _: float(response.square_root(p)),
    "sack": lambda p, _: float(response.square_root(p)),
    "newreno": lambda p, _: float(response.square_root(p)),
    "cubic": lambda p, rtt: float(response.cubic(p, rtt)),
    "htcp": lambda p, rtt: float(response.htcp(p, rtt)),
    "highspeed": lambda p, _: float(response.highspeed(p)),
    "scalable": lambda p, _: float(response.scalable(p)),
    "ltcp": lambda p, _: float(response.ltcp(p)),
    "etcp": lambda p, _: _etcp(p),
}


def _etcp(p: float) -> float:
    ratio = p / (1 - p)
    return float(response.etcp(ratio)) if ratio > 0.01 else math.inf


def mixed(wire: Wire, cc: str, duration: str, seed: int, as_json: bool) -> None:
    """Print the shares of a mixture, by theory and, if it lasts at all, by packets."""
    groups = mixture(cc, flows_of([cc]))
    rows = _predicted(wire, groups)
    if _core.seconds("--duration", duration):
        result = run(wire.scenario(groups, duration), seed=seed)
        whole = np.sum(result.flows["goodput"].to_numpy())
        for row, flows in zip(rows, by_group(result, result.flows), strict=True):
            row["packets' share"] = float(np.sum(flows["goodput"].to_numpy()) / whole)
            row["packets' loss"] = float(np.mean(flows["loss_rate"].to_numpy()))
    _print(rows, as_json)


def _predicted(wire: Wire, groups: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    rows = [{"flows": count, "law": law} for law, count in groups]
    counts = {law: count for law, count in groups if law.startswith("bbr1")}
    if counts:
        return _beside_bbr(wire, rows, sum(counts.values()))
    parts = []
    for law, count in groups:
        if law not in RESPONSES:
            known = ", ".join([*RESPONSES, "bbr1"])
            raise Error(f'--cc: no response function of "{law}" is known; known: {known}')
        parts.append(mixtures.Part(_at(RESPONSES[law], wire.seconds), wire.seconds, count))
    found = mixtures.of_losses(parts, wire.capacity, equal_loss(wire.packets))
    for row, window, share in zip(rows, found.windows, found.shares, strict=True):
        row |= {"window": float(window), "share": float(share), "loss": found.loss}
    return rows


def _at(of: Callable[[float, float], float], rtt: float) -> Callable[[float], float]:
    """Return the window by the loss alone; no link limits it where less is lost than they know."""
    return lambda p: of(p, rtt) if p > LEAST_LOSS else math.inf


def _beside_bbr(wire: Wire, rows: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    others = sum(row["flows"] for row in rows) - count
    if not others:
        raise Error("--cc: BBRv1 alone has all of the link; add a law that answers to losses")
    try:
        share = mixtures.of_bbr(wire.packets, wire.bdp, count, wire.seconds)
    except ValueError as found:
        raise Error(f"--{found}; BBRv1's share is known from 1bdp on") from None
    for row in rows:
        is_bbr = row["law"].startswith("bbr1")
        row["share"] = (
            share * row["flows"] / count if is_bbr else (1 - share) * row["flows"] / others
        )
    return rows


def flow(
    wire: Wire,
    cc: str,
    duration: str | None,
    seed: int,
    as_json: bool,
    output: Path | None,
    force: bool,
) -> None:
    """Solve the fluid model, run packets, print both means and draw them over each other."""
    from narrows import plot

    groups = mixture(cc, flows_of([cc]))
    _check(wire, [law for law, _ in groups], flows_of([cc]))
    first = min(max(0.5 * wire.bdp / flows_of([cc]), 1.0), 64.0)
    usual = f"{min(LONG, MOST_TRIPS * wire.seconds):g}s"
    scenario = wire.scenario(groups, duration or usual)
    seconds, warmup = scenario.checked.times()
    with folder_of(output, force) as folder:
        try:
            solved = _solved(wire, groups, first, seconds)
        except ValueError as found:
            told = f"; give a shorter --duration, like {usual}" if "steps of" in str(found) else ""
            raise Error(f"the fluid model: {found}{told}") from None
        result = run(scenario, seed=seed)
        rows = _means(solved, result, groups, warmup)
        _print(rows, as_json)
        if folder:
            folder.data("fluid.png", plot.png(plot.overlay(result, solved)))
            finish(folder, Made("theory", [({}, scenario.to_toml())], [seed]), as_json)


def _solved(
    wire: Wire, groups: Sequence[tuple[str, int]], first: float, seconds: float
) -> fluid.Fluid:
    (law, count), *_ = groups
    if law == "xcp":
        return steered.xcp(wire.capacity, wire.seconds, count, first, seconds)
    if law == "gwa-rate":
        return steered.gwa(wire.capacity, wire.seconds, count, wire.packets, seconds)
    shares = [fluid.Group(law_of(law), wire.seconds, count, first) for law, count in groups]
    return fluid.integrate(shares, _link(wire), seconds)


def _check(wire: Wire, laws: Sequence[str], flows: int) -> None:
    """Fail if a law has no fluid model, or does not answer as the link signals."""
    for law in laws:
        name = law.partition(":")[0]
        if name in STEERED:
            _check_steered(wire, law, flows, laws)
            continue
        law_of(law)
        if name == "dctcp" and not wire.mark:
            raise Error("--cc: dctcp answers to marks; add --mark 20p")
        if name != "dctcp" and wire.mark:
            raise Error(f"--mark: {name}'s fluid model would cut for each mark of a round trip")


def _check_steered(wire: Wire, law: str, flows: int, laws: Sequence[str]) -> None:
    if len(laws) > 1:
        raise Error(f"--cc: {law}'s fluid model is that of equal flows alone; leave others out")
    if law not in STEERED:
        raise Error(f'--cc: "{law}": its fluid model has no settings; leave them out')
    if wire.bdp < flows:
        raise Error(
            f"--cc: {flows} flows share {wire.bdp:.3g} packets a round trip, less than one each; "
            "try fewer, or a faster link"
        )
    if wire.mark:
        raise Error(f"--mark: {law}'s routers say what to send, and mark nothing; leave it out")


def _link(wire: Wire) -> Link:
    """Return the fluid model's link: a small buffer does not move, a threshold marks."""
    packets, mark = wire.packets, wire.threshold
    if mark is not None:
        return Threshold(wire.capacity, packets, mark)
    if packets <= SMALL * wire.bdp:
        return Small(wire.capacity, equal_loss(packets))
    return DropTail(wire.capacity, packets)


def _means(
    solved: fluid.Fluid, result: Result, groups: Sequence[tuple[str, int]], warmup: float
) -> list[dict[str, Any]]:
    """Return means of what both have, after the warm-up."""
    later = solved.time >= warmup
    series = result.flow_series.filter(result.flow_series["time"] >= warmup)
    rows = []
    for number, own in enumerate(by_group(result, series)):
        means = solved.windows[later, number].mean(), np.mean(own["window"].to_numpy())
        row = {"of": f"window of {groups[number][0]}", "fluid": float(means[0])}
        rows.append(row | {"packets": float(means[1])})
    link = result.links.row(0, named=True)
    rows.append(
        {"of": "queue", "fluid": float(solved.queue[later].mean()), "packets": link["mean_queue"]}
    )
    lost = float(np.average(solved.loss[later], weights=solved.rate[later]))
    marked = link["marks"] / max(link["arrivals"], 1)
    of, packets = ("marks", marked) if link["marks"] else ("loss", link["loss_rate"])
    rows.append({"of": of, "fluid": lost, "packets": packets})
    return rows


def _print(rows: Sequence[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        for row in rows:
            put(json.dumps({name: _finite(value) for name, value in row.items()}))
        return
    table = Table(*rows[0], box=None)
    for row in rows:
        table.add_row(*(_shown(value) for value in row.values()))
    console().print(table)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _shown(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return "" if math.isnan(value) else f"{value:.4g}"
