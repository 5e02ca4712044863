"""The path that a capture saw, as a scenario in which other laws can be tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from narrows.captures import Explained
from narrows.causes import CAUSES
from narrows.comparison import OWN
from narrows.errors import Error
from narrows.scenario import Scenario

# Seconds of a run, at least and at most.
SHORTEST, LONGEST = 10.0, 120.0
# Others that shared the bottleneck had queues as long as this one's to within so much.
ALIKE = 0.25
# Laws of those others, of which nothing is known.
OTHERS = "cubic"
# A share of time for which a cause is set as a limit.
LIMITED = 0.5
# A share of time for which the application had nothing, and silences, that are no accident.
SOME, MANY = 0.05, 3
# A policer's bucket, if nothing is known of it.
BUCKET = "64kB"
# By how much another law's goodput over such paths was off (docs/why.md).
OFF = "another law's goodput is off by {} % in the median over such paths"
OFF_OTHERS, OFF_POLICER, OFF_LOSS = (OFF.format(share) for share in (27, 15, 11))
# An acknowledgement's bytes.
ACK = 52


@dataclass(frozen=True)
class Fitted:
    """A path as a scenario.

    Attributes
    ----------
    scenario
        The path with the flow, ``own``, and others that shared it.
    sure
        What each field is from, and what could not be told.
    """

    scenario: Scenario
    sure: tuple[str, ...]

    def to_toml(self) -> str:
        """Return the scenario as a file, with how sure it is as comments."""
        return "".join(f"# {line}\n" for line in self.sure) + self.scenario.to_toml()


def fit(explained: Explained, flow: int = 0, cc: str = OTHERS, rate: float | None = None) -> Fitted:
    """Return the path that a flow of a capture saw.

    Parameters
    ----------
    explained
        What a capture tells, from `why`.
    flow
        The number of the flow, in the order of `Explained.flows`.
    cc
        The law in its place.
    rate
        The bottleneck's rate in bit/s, where one knows what a capture does not tell.

    Returns
    -------
    Fitted
        A dumbbell with the bottleneck's rate, the base RTT, the buffer and random losses, where the
        application or the receiver set the limit with that, and with flows that shared it.

    Raises
    ------
    Error
        If there is no such flow, or if its rate or its base RTT is not told.

    Examples
    --------
    >>> import tempfile
    >>> import narrows as nw
    >>> scenario = nw.dumbbell(rate="20Mbps", rtt="40ms", buffer="0.5bdp", cc="cubic")
    >>> traced = scenario.with_({"duration": "20s", "trace.links": ["bottleneck", "reverse"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = nw.run(traced, traces_to=folder)
    ...     fitted = nw.fit(nw.why(f"{folder}/packets.pcapng"), cc="bbr")
    >>> bool(19e6 < nw.run(fitted.scenario).summary["utilisation"][0] * 20e6 < 20.5e6)
    True
    """
    flows = explained.told["flows"]
    if not 0 <= flow < len(flows):
        raise Error(f"flow: {flow} is none of 0 to {len(flows) - 1}")
    own = flows[flow]
    if rate is not None:
        own = {**own, "rate": {"value": rate, "low": rate, "high": rate}, "rates": None}
    base = own["base_rtt"]
    if own["rate"] is None:
        raise Error(
            f"flow {flow}: the bottleneck's rate is not told; it had no queue for long, or others "
            "shared it; give the rate if you know it"
        )
    if base is None:
        raise Error(f"flow {flow}: the base RTT is not told; one way is not in the capture")
    packet = own["segment_size"] + 40
    # A least round trip has a full packet and an acknowledgement on the bottleneck.
    rtt = max(base["value"] - 8 * (packet + ACK) / own["rate"]["value"], 1e-5)
    sure = [
        f"made by narrows fit of {explained.name}, flow {flow}",
        *([] if own.get("rates") else [_between("rate", own["rate"], 1e-6, "Mbps")]),
    ]
    sure.append(_between("base RTT", base, 1e3, "ms"))
    link = {"rate": f"{own['rate']['value']:.4g}bps", "rtt": f"{rtt * 1e3:.4g}ms"}
    seconds = min(max(own["seconds"], SHORTEST), LONGEST)
    if own.get("rates"):
        link |= _changing(own["rates"], seconds, sure)
    link["buffer"] = _buffer(own, rtt, packet, sure)
    link |= _lossy(own, packet, sure)
    others = _others(flows, flow)
    if others:
        count = f"{len(others)} flow{'s' if len(others) > 1 else ''}"
        sure.append(f"others: {count} with as long a queue; their law is not told ({OFF_OTHERS})")
    full = own["rate"]["value"] / 8 * rtt + int(link["buffer"][:-1]) * packet
    groups = [{"name": OWN, "cc": cc} | _limits(own, full, sure)]
    groups += [
        {"cc": OTHERS, "start": f"{max(it['begins'] - own['begins'], 0.0):.3f}s"} for it in others
    ]
    return Fitted(Scenario(duration=f"{seconds:.1f}s", dumbbell=link, flows=groups), tuple(sure))


def _between(name: str, found: Mapping[str, float], scale: float, unit: str) -> str:
    value, low, high = (found[key] * scale for key in ("value", "low", "high"))
    if low <= 0:
        return f"{name}: at most {high:.4g} {unit}; the path always had a queue"
    return f"{name}: {value:.4g} {unit}, between {low:.4g} and {high:.4g}"


def _buffer(own: Mapping[str, Any], rtt: float, packet: int, sure: list[str]) -> str:
    """Return the buffer; where it was never seen full, at least what was seen and a BDP."""
    if own["buffer"]:
        sure.append(_between("buffer", own["buffer"], 1e-3, "kB"))
        return f"{max(round(own['buffer']['value'] / packet), 2)}p"
    queue = max((own["rtt_p99"] or 0.0) - own["base_rtt"]["value"], rtt)
    # The longest queue is that of the least rate.
    rate = own["rate"]["low" if own.get("rates") else "value"]
    size = max(round(queue * rate / 8 / packet), 2)
    why = "not told, though it was full" if own["loss"] == "congestion" else "never seen full"
    sure.append(f"buffer: {why}; the longest queue seen, or a BDP if that is more")
    return f"{size}p"


def _changing(
    rates: Sequence[tuple[float, float]], seconds: float, sure: list[str]
) -> dict[str, Any]:
    """Return the rate that the link begins with, and its changes within these seconds."""
    (_, first), *then = rates
    within = [(at, rate) for at, rate in then if at < seconds]
    told = [f"{1e-6 * rate:.4g} Mbps from {at:.1f} s on" for at, rate in within]
    sure.append(f"rate: {', '.join([f'{1e-6 * first:.4g} Mbps', *told])}; times to some tenths")
    if left := len(then) - len(within):
        said = f"{left} change{'s' if left > 1 else ''}"
        sure.append(f"left out: {said} after {seconds:.0f} s, which is the longest run")
    changes = [{"at": f"{at:.1f}s", "rate": f"{rate:.4g}bps"} for at, rate in within]
    return {"rate": f"{first:.4g}bps"} | ({"changes": changes} if changes else {})


def _others(flows: Sequence[Mapping[str, Any]], flow: int) -> list[Mapping[str, Any]]:
    """Return the flows that had as long a queue during most of a flow's time."""

    def queue(it: Mapping[str, Any]) -> float | None:
        if not it["base_rtt"] or it["rtt_p50"] is None or (it["busy"] or 0) < LIMITED:
            return None
        return float(it["rtt_p50"] - it["base_rtt"]["value"])

    own = flows[flow]
    mine = queue(own)
    if mine is None:
        return []
    ends = own["begins"] + own["seconds"]
    found = []
    for number, it in enumerate(flows):
        theirs = queue(it)
        if number == flow or theirs is None:
            continue
        together = min(ends, it["begins"] + it["seconds"]) - max(own["begins"], it["begins"])
        if together > LIMITED * own["seconds"] and abs(theirs - mine) <= ALIKE * mine:
            found.append(it)
    return found


def _lossy(own: Mapping[str, Any], packet: int, sure: list[str]) -> dict[str, Any]:
    """Return what loses packets apart from the queue."""
    # What a full queue loses at once, as in a slow start, is one.
    lost, segments = own["episodes"], max(own["segments"], 1)
    if own["loss"] == "policer":
        rate = own["goodput"] * packet / own["segment_size"]
        sure.append(
            f"policer: at what came through; its bucket of {BUCKET} is a guess ({OFF_POLICER})"
        )
        return {"policer": {"rate": f"{rate:.4g}bps", "burst": BUCKET}}
    is_random = own["loss"] == "random"
    # A log does not say how long there was a queue.
    has_queue = own["busy"] is None or own["busy"] >= LIMITED
    if is_random or (own["loss"] == "untold" and not has_queue):
        doubt = "whatever the queue was" if is_random else "by what is not told; as if at random"
        sure.append(f"loss: {lost} times in {segments} segments, {doubt} ({OFF_LOSS})")
        return {"loss": f"{lost / segments:.3g}"}
    return {}


def _limits(own: Mapping[str, Any], full: float, sure: list[str]) -> dict[str, Any]:
    """Return what the application or the receiver sets as a limit; `full` bytes fill the path."""
    limits: dict[str, Any] = {}
    if own["shares"][CAUSES.index("application")] >= SOME:
        limits["app"] = {"rate": f"{own['goodput']:.4g}bps"}
        if own["restarts"] >= MANY:
            limits["app"]["frames"] = max(round(own["restarts"] / own["seconds"]), 1)
        sure.append("application: as much as it sent, after as many silences")
    window = own["receive_window"]
    if window and window < full:
        limits["max_window"] = f"{max(window // own['segment_size'], 1)}p"
        sure.append(f"receiver: a window of {window} bytes, the largest that it had")
    return limits
