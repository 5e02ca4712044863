"""Which law a flow of a capture ran: the one that does the same on the path that the flow saw."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from narrows import _core
from narrows.captures import Explained, why
from narrows.causes import CAUSES
from narrows.errors import Error
from narrows.fitted import fit
from narrows.pool import each
from narrows.results import run
from narrows.scenario import Scenario
from narrows.traits import FEWEST, distance, line_of, traits

# The laws that are tried; `bbr` is version 3.
CANDIDATES = (
    "reno",
    "cubic",
    "bic",
    "htcp",
    "highspeed",
    "scalable",
    "westwood",
    "illinois",
    "vegas",
    "bbr1",
    "bbr2",
    "bbr",
    "copa",
    "fast",
    "ledbat++",
    "ltcp",
    "multcp",
)
UNKNOWN = "unknown"
# Nothing slower is a path, in bit/s.
LEAST_RATE = 1e4
# What is less likely is not said.
LEAST = 0.05
# Paths on which each law is tried: how far rate, base RTT and buffer go from what is told towards
# the ends of their intervals, as laws near a limit do something else on a path a little different.
PATHS = ((0.0, 0.0, 0.0), (0.5, -0.5, 0.5), (-0.5, 0.5, -0.5), (0.3, 0.3, -0.3))
# A buffer that is not told goes by this share.
BUFFER = 0.2
# A law is e times as likely as one that is so much further off; one that nobody knows is as far
# off as this.
SCALE, STRANGE = 0.35, 1.2
# Round trips that a law needs to show itself.
ROUNDS = 60
# The most that is looked at, in seconds and in packets.
LONGEST, MOST_PACKETS = 60.0, 200_000
# Hosts of a run: their links, how far the capture is from one in seconds, and where the first flow
# sends from.
HOSTS, BESIDE = "100Gbps", 1e-5
FIRST = "10.0.0.1:40000"
# Causes under which a flow does what its law says, and the share of time that they take at least.
OWN = ("window", "pacing", "recovery", "timeout", "path", "untold")
HALF = 0.5
# A queue below this share of the longest lost nothing, and a full one loses more packets at once;
# smaller packets are no data.
SHORT, FEW, DATA = 0.9, 4, "400B"


@dataclass(frozen=True)
class Identified:
    """How likely each law is to be a flow's.

    Attributes
    ----------
    probabilities
        Those of all laws that were tried, and of ``unknown``, the likeliest first.
    distances
        How far what each law does is from what was seen; 1 is a tolerance in each trait.
    """

    probabilities: Mapping[str, float]
    distances: Mapping[str, float]

    @property
    def law(self) -> str:
        """Return the likeliest, which may be ``unknown``."""
        return next(iter(self.probabilities))

    def __str__(self) -> str:
        """Say it in a line, with what is likelier than one in twenty."""
        return likely(self.probabilities)


def likely(probabilities: Mapping[str, float]) -> str:
    """Return the laws of one in twenty and more as a line.

    Examples
    --------
    >>> likely({"cubic": 0.9, "bic": 0.07, "unknown": 0.03})
    'cubic 90 %, bic 7 %'
    """
    said = [f"{law} {100 * p:.0f} %" for law, p in probabilities.items() if p >= LEAST]
    return ", ".join(said)


def identify(
    explained: Explained,
    flow: int = 0,
    *,
    rate: float | None = None,
    laws: Sequence[str] | None = None,
) -> Identified:
    """Say which law a flow of a capture ran.

    Each law is run over the path that the flow saw, as `fit` writes it, and over three paths within
    its intervals; what these runs' captures show is compared with the flow's.

    Parameters
    ----------
    explained
        What a capture tells, from `why`.
    flow
        The number of the flow, in the order of `Explained.flows`; it needs a time line.
    rate
        The bottleneck's rate in bit/s, where one knows what a capture does not tell.
    laws
        The laws to try, of `CANDIDATES`; all of them if None.

    Returns
    -------
    Identified
        Probabilities, of which one is of *unknown*: of a law that is none of them, or of a path on
        which they do something else than on the fitted one.

    Raises
    ------
    Error
        If there is no such flow or law, if its path is not told, if something else than its law
        held it back, or if it is too short to show anything.

    Examples
    --------
    >>> import tempfile
    >>> import narrows as nw
    >>> scenario = nw.dumbbell(rate="20Mbps", rtt="40ms", buffer="1bdp", cc="scalable")
    >>> traced = scenario.with_({"duration": "20s", "trace.links": ["bottleneck", "reverse"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = nw.run(traced, traces_to=folder)
    ...     capture = nw.why(f"{folder}/packets.pcapng")
    >>> nw.identify(capture, laws=["reno", "cubic", "scalable"]).law
    'scalable'
    """
    if not isinstance(explained, Explained):
        raise Error(f"explained: {explained!r} is not what nw.why returns")
    names = [laws] if isinstance(laws, str) else list(CANDIDATES if laws is None else laws)
    if not names:
        raise Error("laws: there are none to try; leave it out for all of them")
    if rate is not None and not LEAST_RATE <= rate < math.inf:
        raise Error(f"rate: {rate!r} is not a rate in bit/s; try 20e6")
    for name in names:
        if name not in CANDIDATES:
            raise Error(f'laws: "{name}" is not tried; known: {", ".join(CANDIDATES)}')
    own = explained.told["flows"][flow : flow + 1]
    if flow >= 0 and own and own[0]["busy"] is None:
        raise Error(f"flow {flow}: a log does not tell the path, so that no law can be tried")
    fit(explained, flow, rate=rate)
    seen = _Seen.of(own[0], flow, rate or own[0]["rate"]["value"])
    wanted = seen.traits(own[0])

    def apart(number: int, watch: Callable[[float], None]) -> float:
        law, path = names[number // len(PATHS)], PATHS[number % len(PATHS)]
        tried = _towards(explained, flow, path)
        scenario = fit(tried, flow, law, rate).scenario
        return distance(wanted, seen.traits(_simulated(scenario, seen, number, watch)))

    found = each(len(names) * len(PATHS), apart)
    per_law = [found[at : at + len(PATHS)] for at in range(0, len(found), len(PATHS))]
    return _judged(dict(zip(names, map(_together, per_law), strict=True)))


@dataclass(frozen=True)
class _Seen:
    """What of a flow is looked at."""

    rate: float
    base: float
    width: float
    seconds: float
    place: str
    # When that left, in seconds, which no full queue lost.
    losses: tuple[float, ...]

    @classmethod
    def of(cls, own: Mapping[str, Any], number: int, rate: float) -> _Seen:
        """Return it, if the flow shows its law."""
        line = own["timeline"]
        if line is None:
            raise Error(f"flow {number}: it has no time line; read the file with more lines")
        shares = dict(zip(CAUSES, own["shares"], strict=True))
        if sum(shares[name] for name in OWN) < HALF:
            cause = max(shares.keys() - set(OWN), key=lambda name: shares[name])
            raise Error(f"flow {number}: its law does not show, as something else limits: {cause}")
        packets = rate / 8 / (own["segment_size"] + 40)
        seconds = min(own["seconds"], LONGEST, MOST_PACKETS / packets)
        least = max(FEWEST * line["width"], ROUNDS * own["base_rtt"]["value"])
        if seconds < least:
            raise Error(
                f"flow {number}: {seconds:.3g} s are too short to show a law; {least:.3g} s are "
                f"needed, {ROUNDS} round trips"
            )
        base = own["base_rtt"]["value"]
        losses = _random_losses(line, seconds, base, _longest_queue(own, rate))
        return cls(rate, base, line["width"], seconds, own["place"], losses)

    def traits(self, flow: Mapping[str, Any]) -> dict[str, float]:
        """Return the traits of a flow on the same grid."""
        line = line_of(flow["timeline"], self.width, self.seconds)
        return traits(line, self.rate, self.base)


def _longest_queue(own: Mapping[str, Any], rate: float) -> float:
    """Return what a full queue takes in seconds, as far as the flow has seen one."""
    if own["buffer"]:
        return float(8 * own["buffer"]["value"] / rate)
    return max((own["rtt_p99"] or 0.0) - float(own["base_rtt"]["value"]), 0.0)


def _random_losses(
    line: Mapping[str, Any], seconds: float, base: float, full: float
) -> tuple[float, ...]:
    """Return when that left which was lost though the queue was short.

    What is sent again was lost about a round trip before.
    """
    times: list[float] = []
    width, rtt = line["width"], base
    pieces = line["pieces"]
    for number, piece in enumerate(pieces):
        rtt = piece["rtt"][0] or rtt
        trip = max(math.ceil(rtt / width), 1)
        then = pieces[max(number - trip, 0)]
        together = sum(it["again"] for it in pieces[max(number - trip, 0) : number + trip])
        if then["rtt"][1] - base > SHORT * full or together > FEW:
            continue
        again = piece["again"]
        times += [(number + (place + 0.5) / again) * width - rtt for place in range(again)]
    return tuple(time for time in times if 0 < time < seconds)


def _towards(explained: Explained, flow: int, path: tuple[float, float, float]) -> Explained:
    """Return a capture whose path is within its intervals, so far towards their ends."""
    flows = list(explained.told["flows"])
    own = dict(flows[flow])
    for name, part in zip(("rate", "base_rtt", "buffer"), path, strict=True):
        if own[name]:
            value, low, high = (own[name][key] for key in ("value", "low", "high"))
            end = high if part > 0 else low if low > 0 else value
            own[name] = own[name] | {"value": value + abs(part) * (end - value)}
    if not own["buffer"] and own["rtt_p99"]:
        own["rtt_p99"] *= 1 + BUFFER * path[2]
    flows[flow] = own
    return replace(explained, told={**explained.told, "flows": flows})


def _simulated(
    fitted: Scenario, seen: _Seen, seed: int, watch: Callable[[float], None]
) -> Mapping[str, Any]:
    """Return what a capture tells of the first flow of a path, taken where the flow's was."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = _captured(fitted, seen)
        run(scenario, seed=seed % len(PATHS) + 1, traces_to=folder, progress=watch)
        explained = why(f"{folder}/packets.pcapng", lines=len(fitted.fields["flows"]))
    flows: list[dict[str, Any]] = explained.told["flows"]
    first = [flow for flow in flows if flow["sender"] == FIRST]
    if not first:
        raise Error("a law that was tried sent nothing over the path")
    return first[0]


def _captured(fitted: Scenario, seen: _Seen) -> Scenario:
    """Return a fitted dumbbell as a chain of links, which can be watched beside the receiver."""
    path = dict(fitted.fields["dumbbell"])
    rtt = _core.seconds("rtt", path.pop("rtt"))
    middle = max(rtt / 2 - 2 * BESIDE, 0.0)
    # Chance would decide more than the law: what no full queue lost is lost when it was.
    for chance in ("loss", "policer"):
        path.pop(chance, None)
    if seen.losses:
        path["script"] = [
            {"from": f"{time:.6f}s", "least": DATA, "drop": [1]} for time in seen.losses
        ]
    ends = {"rate": HOSTS, "delay": f"{BESIDE:g}s"}
    links = [
        {"from": "s", "to": "r", "name": "first", **ends},
        {"from": "r", "to": "q", "name": "middle", "delay": f"{middle:.9f}s", **path},
        {"from": "q", "to": "d", "name": "last", **ends},
    ]
    flows = [{"from": "s", "to": "d", **flow} for flow in fitted.fields["flows"]]
    at_receiver = seen.place == "receiver"
    watched = ["last", "middle-back"] if at_receiver else ["middle", "first-back"]
    return Scenario(
        duration=f"{seen.seconds:.3f}s",
        warmup="0s",
        sample="0s",
        links=links,
        flows=flows,
        trace={"links": watched},
    )


def _together(apart: Sequence[float]) -> float:
    """Return the distance of a law that did this on several paths: likelihoods are averaged."""
    nearest = min(apart)
    mean = sum(math.exp(-(it - nearest) / SCALE) for it in apart) / len(apart)
    return nearest - SCALE * math.log(mean)


def _judged(distances: Mapping[str, float]) -> Identified:
    """Return how likely laws are that are so far off."""
    whole = {**distances, UNKNOWN: STRANGE}
    nearest = min(whole.values())
    weights = {law: math.exp(-(it - nearest) / SCALE) for law, it in whole.items()}
    total = sum(weights.values())
    order = sorted(weights, key=lambda law: -weights[law])
    return Identified({law: weights[law] / total for law in order}, distances)
