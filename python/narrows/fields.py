"""The fields of a scenario and of its parts, as types for editors and type checkers.

Made from the schema (`narrows schema`) by tests/python/typed_fields.py; what each field means is in
docs/scenario.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Required, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows.controller import Law


class ChangeFields(TypedDict, total=False):
    """The fields of a change."""

    at: Required[str]
    """When."""
    rate: str
    """The rate from then on: bits in transmission go on at it."""
    ramp: str
    """With `rate`: it goes there evenly for so long, in steps of a hundredth, of 10ms at the least.
    """
    delay: str
    """The one-way delay of packets that leave from then on; in a dumbbell give `rtt`."""
    rtt: str
    """In a dumbbell, the base round-trip time: half of the difference to that given at first goes
    to each direction.
    """
    buffer: str
    """The buffer for packets that arrive from then on; nothing in it is dropped. Units of time and
    of bdp are of the rate given at first.
    """
    mark: str
    """The marking threshold for packets that arrive from then on."""
    queue: str
    """The settings of its queue for packets that arrive from then on, like "red:min=9"; it stays of
    the same kind.
    """
    loss: str
    """The losses of packets that leave from then on."""
    loss_burst: float
    """With `loss`: the mean length of a burst of losses in packets."""
    jitter: str
    """The variation of the delay of packets that leave from then on."""
    mtu: str
    """The largest packet from then on."""


_OutageFor = TypedDict("_OutageFor", {"for": "Required[str]"}, total=False)


class OutageFields(_OutageFor, total=False):
    """The fields of a outage."""

    at: Required[str]
    """When it begins."""
    every: str
    """It comes again after each such time."""
    does: Literal["lose", "hold", "down"]
    """What becomes of packets; "lose" unless given."""


class HandoversFields(TypedDict, total=False):
    """The fields of a handovers."""

    every: Required[str]
    """The time between them."""
    first: str
    """The first; after `every` unless given."""
    rate: tuple[str, str]
    """The least and the largest rate, between which each is drawn (evenly in their logarithms)."""
    delay: tuple[str, str]
    """The least and the largest one-way delay, between which each is drawn."""
    gap: str
    """How long each is an outage; "0s" unless given."""
    does: Literal["lose", "hold", "down"]
    """What becomes of packets in it; "lose" unless given."""
    drift: str
    """Until the next the delay grows by this, in steps of 100ms."""
    slots: Sequence[tuple[str, str]]
    """The rate and the delay after each, in turn, instead of drawn ones."""


_HoldFor = TypedDict("_HoldFor", {"for": "str"}, total=False)


class HoldFields(_HoldFor, total=False):
    """The fields of a hold."""

    every: Required[str | MeanFields | Mapping[str, Any]]
    """The time from one to the next, like "4ms", or { mean = "4ms" } for times that are
    exponentially distributed.
    """
    most: int
    """Packets at one time, at most."""
    phase: str
    """The first; at `every` unless given."""


class PolicerFields(TypedDict, total=False):
    """The fields of a policer."""

    rate: Required[str]
    """How fast it fills."""
    burst: Required[str]
    """How much it holds."""
    mark: bool
    """Whether packets that can be marked are, instead of dropped."""


class ShaperFields(TypedDict, total=False):
    """The fields of a shaper."""

    rate: Required[str]
    """How fast it fills."""
    burst: Required[str]
    """How much it holds; larger packets are dropped."""


_ScriptLineFrom = TypedDict("_ScriptLineFrom", {"from": "str"}, total=False)


class ScriptLineFields(_ScriptLineFrom, total=False):
    """The fields of a line of a script."""

    drop: int | str | Sequence[int | str]
    """Those with these numbers are dropped, like 3, "40-43" or [3, "40-43"]."""
    mark: int | str | Sequence[int | str]
    """Those with these numbers are marked, if they can be."""
    twice: int | str | Sequence[int | str]
    """A copy of those with these numbers comes right behind them, which other lines count."""
    clear: int | str | Sequence[int | str]
    """The ECN bits of those with these numbers are taken off."""
    late: str
    """Those with the numbers of `packets` arrive so much later, overtaken by others."""
    window: str
    """Those with the numbers of `packets` that acknowledge TCP's data advertise so much room at
    most, as a receiver with less does; a later line opens the window again.
    """
    packets: int | str | Sequence[int | str]
    """With `late` or `window`: the numbers."""
    until: str
    """Those count that arrive before."""
    flow: int
    """Only packets of this flow count, numbered from 0 in the order of the scenario; its data on
    its way, its acknowledgements on their way back.
    """
    least: str
    """Only packets of so many bytes or more count."""
    each: int
    """After so many the count begins anew."""


class WayBackFields(TypedDict, total=False):
    """The fields of a dumbbell's way back."""

    rate: str
    """Its rate, like "1Gbps"; a link with a `trace` has none."""
    buffer: str
    """Its buffer: "20p" (packets), "30kB", "5ms", "0.5bdp"."""
    queue: str
    """Its queue: "drop-tail" unless given, "red:min=5", "codel", "fq-codel", "xcp", "gwa-rr" …;
    `narrows list` has all.
    """
    mark: str
    """Marking threshold of a drop-tail queue: ECN-capable packets that find at least this much are
    marked (DCTCP's K), like "20p".
    """
    loss: str
    """Packets are lost on the wire, each with this probability, like "0.1%"."""
    loss_burst: float
    """With `loss`: the mean length of a burst of losses in packets (Gilbert and Elliott); losses
    are independent unless given.
    """
    jitter: str
    """The delay varies uniformly by up to this."""
    reorder: bool
    """With `jitter`: whether packets may overtake each other."""
    mtu: str
    """The largest packet on the wire: larger ones are dropped and nobody is told; no limit unless
    given.
    """
    super_packets: bool
    """What leaves a sender as one burst is queued, dropped and sent as one, as in hosts and virtual
    switches with offloads; packets are, one by one, unless given.
    """
    changes: Sequence[ChangeFields | Mapping[str, Any]]
    """What changes while it runs, in the order of time."""
    repeat: str
    """With `changes`: they begin anew after each such time."""
    outages: Sequence[OutageFields | Mapping[str, Any]]
    """Times at which it carries nothing."""
    handovers: HandoversFields | Mapping[str, Any]
    """Its rate and its delay change at regular times, as where one satellite hands over to the
    next.
    """
    trace: str
    """When packets may leave, in place of the rate: the name of a file in the format of mahimahi, a
    line for each opportunity to send 1500 bytes, in milliseconds; repeated to the end of the run.
    """
    hold: HoldFields | Mapping[str, Any]
    """Packets reach its other end at certain times only."""
    policer: PolicerFields | Mapping[str, Any]
    """Packets that come faster are dropped or marked, by a token bucket before the queue."""
    shaper: ShaperFields | Mapping[str, Any]
    """Packets that come faster wait, for a token bucket behind the queue."""
    script: Sequence[ScriptLineFields | Mapping[str, Any]]
    """What happens to which packets."""
    memory: str
    """The name of one of `memories`, which its queue shares with those of other links, of the way
    there only; a buffer is then a limit besides.
    """
    reserved: str
    """With `memory`: bytes of it that are this link's own."""


class DumbbellOptions(TypedDict, total=False):
    """Fields of a dumbbell that the functions of `narrows.networks` take as keywords."""

    link: Literal["lte", "starlink", "geo", "wifi", "cable", "mars"]
    """A link that is known by name, which has all that is not given here: "lte", "starlink", "geo",
    "wifi", "cable", "mars".
    """
    rtt_step: str
    """Each further flow's RTT is longer by this."""
    access_rate: str
    """The rate of the access links; "100Gbps" unless given."""
    queue: str
    """Its queue: "drop-tail" unless given, "red:min=5", "codel", "fq-codel", "xcp", "gwa-rr" …;
    `narrows list` has all.
    """
    mark: str
    """Marking threshold of a drop-tail queue: ECN-capable packets that find at least this much are
    marked (DCTCP's K), like "20p".
    """
    loss: str
    """Packets are lost on the wire, each with this probability, like "0.1%"."""
    loss_burst: float
    """With `loss`: the mean length of a burst of losses in packets (Gilbert and Elliott); losses
    are independent unless given.
    """
    jitter: str
    """The delay varies uniformly by up to this."""
    reorder: bool
    """With `jitter`: whether packets may overtake each other."""
    mtu: str
    """The largest packet on the wire: larger ones are dropped and nobody is told; no limit unless
    given.
    """
    super_packets: bool
    """What leaves a sender as one burst is queued, dropped and sent as one, as in hosts and virtual
    switches with offloads; packets are, one by one, unless given.
    """
    changes: Sequence[ChangeFields | Mapping[str, Any]]
    """What changes while it runs, in the order of time."""
    repeat: str
    """With `changes`: they begin anew after each such time."""
    outages: Sequence[OutageFields | Mapping[str, Any]]
    """Times at which it carries nothing."""
    handovers: HandoversFields | Mapping[str, Any]
    """Its rate and its delay change at regular times, as where one satellite hands over to the
    next.
    """
    hold: HoldFields | Mapping[str, Any]
    """Packets reach its other end at certain times only."""
    policer: PolicerFields | Mapping[str, Any]
    """Packets that come faster are dropped or marked, by a token bucket before the queue."""
    shaper: ShaperFields | Mapping[str, Any]
    """Packets that come faster wait, for a token bucket behind the queue."""
    script: Sequence[ScriptLineFields | Mapping[str, Any]]
    """What happens to which packets."""
    memory: str
    """The name of one of `memories`, which its queue shares with those of other links, of the way
    there only; a buffer is then a limit besides.
    """
    reserved: str
    """With `memory`: bytes of it that are this link's own."""


class DumbbellFields(DumbbellOptions, total=False):
    """The fields of a dumbbell."""

    rate: str
    """Its rate, like "1Gbps"; a link with a `trace` has none."""
    rtt: str
    """Base round-trip time of the first flow, without queues and transmission."""
    reverse: WayBackFields | Mapping[str, Any]
    """The way back, where it is not as the way there, or not as the plain link that it is if no
    data flows that way.
    """
    buffer: str
    """Its buffer: "20p" (packets), "30kB", "5ms", "0.5bdp"."""
    trace: str
    """When packets may leave, in place of the rate: the name of a file in the format of mahimahi, a
    line for each opportunity to send 1500 bytes, in milliseconds; repeated to the end of the run.
    """


class MeanFields(TypedDict, total=False):
    """The fields of a mean."""

    mean: Required[str]
    """The mean."""


class ParkingLotOptions(TypedDict, total=False):
    """Fields of a parking lot that the functions of `narrows.networks` take as keywords."""

    access_delay: str
    """One-way delay of each access link."""
    access_rate: str
    """The rate of the access links; "100Gbps" unless given."""
    queue: str
    """Its queue: "drop-tail" unless given, "red:min=5", "codel", "fq-codel", "xcp", "gwa-rr" …;
    `narrows list` has all.
    """
    mark: str
    """Marking threshold of a drop-tail queue: ECN-capable packets that find at least this much are
    marked (DCTCP's K), like "20p".
    """
    loss: str
    """Packets are lost on the wire, each with this probability, like "0.1%"."""
    loss_burst: float
    """With `loss`: the mean length of a burst of losses in packets (Gilbert and Elliott); losses
    are independent unless given.
    """
    jitter: str
    """The delay varies uniformly by up to this."""
    reorder: bool
    """With `jitter`: whether packets may overtake each other."""
    mtu: str
    """The largest packet on the wire: larger ones are dropped and nobody is told; no limit unless
    given.
    """
    super_packets: bool
    """What leaves a sender as one burst is queued, dropped and sent as one, as in hosts and virtual
    switches with offloads; packets are, one by one, unless given.
    """
    changes: Sequence[ChangeFields | Mapping[str, Any]]
    """What changes while it runs, in the order of time."""
    repeat: str
    """With `changes`: they begin anew after each such time."""
    outages: Sequence[OutageFields | Mapping[str, Any]]
    """Times at which it carries nothing."""
    handovers: HandoversFields | Mapping[str, Any]
    """Its rate and its delay change at regular times, as where one satellite hands over to the
    next.
    """
    hold: HoldFields | Mapping[str, Any]
    """Packets reach its other end at certain times only."""
    policer: PolicerFields | Mapping[str, Any]
    """Packets that come faster are dropped or marked, by a token bucket before the queue."""
    shaper: ShaperFields | Mapping[str, Any]
    """Packets that come faster wait, for a token bucket behind the queue."""
    script: Sequence[ScriptLineFields | Mapping[str, Any]]
    """What happens to which packets."""
    memory: str
    """The name of one of `memories`, which its queue shares with those of other links, of the way
    there only; a buffer is then a limit besides.
    """
    reserved: str
    """With `memory`: bytes of it that are this link's own."""


class ParkingLotFields(ParkingLotOptions, total=False):
    """The fields of a parking lot."""

    hops: Required[int]
    """The number of bottlenecks."""
    delay: Required[str]
    """One-way delay of each."""
    buffer: Required[str]
    """Its buffer: "20p" (packets), "30kB", "5ms", "0.5bdp"."""
    rate: str
    """Its rate, like "1Gbps"; a link with a `trace` has none."""
    trace: str
    """When packets may leave, in place of the rate: the name of a file in the format of mahimahi, a
    line for each opportunity to send 1500 bytes, in milliseconds; repeated to the end of the run.
    """


class ChainLinkFields(TypedDict, total=False):
    """The fields of a link of a chain."""

    delay: Required[str]
    """Its one-way delay."""
    buffer: Required[str]
    """Its buffer: "20p" (packets), "30kB", "5ms", "0.5bdp"."""
    rate: str
    """Its rate, like "1Gbps"; a link with a `trace` has none."""
    queue: str
    """Its queue: "drop-tail" unless given, "red:min=5", "codel", "fq-codel", "xcp", "gwa-rr" …;
    `narrows list` has all.
    """
    mark: str
    """Marking threshold of a drop-tail queue: ECN-capable packets that find at least this much are
    marked (DCTCP's K), like "20p".
    """
    loss: str
    """Packets are lost on the wire, each with this probability, like "0.1%"."""
    loss_burst: float
    """With `loss`: the mean length of a burst of losses in packets (Gilbert and Elliott); losses
    are independent unless given.
    """
    jitter: str
    """The delay varies uniformly by up to this."""
    reorder: bool
    """With `jitter`: whether packets may overtake each other."""
    mtu: str
    """The largest packet on the wire: larger ones are dropped and nobody is told; no limit unless
    given.
    """
    super_packets: bool
    """What leaves a sender as one burst is queued, dropped and sent as one, as in hosts and virtual
    switches with offloads; packets are, one by one, unless given.
    """
    changes: Sequence[ChangeFields | Mapping[str, Any]]
    """What changes while it runs, in the order of time."""
    repeat: str
    """With `changes`: they begin anew after each such time."""
    outages: Sequence[OutageFields | Mapping[str, Any]]
    """Times at which it carries nothing."""
    handovers: HandoversFields | Mapping[str, Any]
    """Its rate and its delay change at regular times, as where one satellite hands over to the
    next.
    """
    trace: str
    """When packets may leave, in place of the rate: the name of a file in the format of mahimahi, a
    line for each opportunity to send 1500 bytes, in milliseconds; repeated to the end of the run.
    """
    hold: HoldFields | Mapping[str, Any]
    """Packets reach its other end at certain times only."""
    policer: PolicerFields | Mapping[str, Any]
    """Packets that come faster are dropped or marked, by a token bucket before the queue."""
    shaper: ShaperFields | Mapping[str, Any]
    """Packets that come faster wait, for a token bucket behind the queue."""
    script: Sequence[ScriptLineFields | Mapping[str, Any]]
    """What happens to which packets."""
    memory: str
    """The name of one of `memories`, which its queue shares with those of other links, of the way
    there only; a buffer is then a limit besides.
    """
    reserved: str
    """With `memory`: bytes of it that are this link's own."""


class ChainOptions(TypedDict, total=False):
    """Fields of a chain that the functions of `narrows.networks` take as keywords."""

    access_delay: str
    """One-way delay of each access link."""
    access_rate: str
    """The rate of the access links; "100Gbps" unless given."""


class ChainFields(ChainOptions, total=False):
    """The fields of a chain."""

    hops: Required[Sequence[ChainLinkFields | Mapping[str, Any]]]
    """The links, the same in both directions."""


_LinkFrom = TypedDict("_LinkFrom", {"from": "Required[str]"}, total=False)


class LinkFields(_LinkFrom, total=False):
    """The fields of a link."""

    to: Required[str]
    """The node where it ends."""
    delay: Required[str]
    """One-way delay."""
    rate: str
    """Its rate, like "1Gbps"; a link with a `trace` has none."""
    name: str
    """Its name; "from-to" unless given."""
    duplex: bool
    """Whether there is the same link the other way; there is unless false."""
    device: bool
    """Whether it is the network card of the host at `from`, with its queue (Linux's txqueuelen):
    TCP there is told when that is full, keeps its packet, and takes it for congestion, as Linux
    does; the packet is dropped unless true.
    """
    buffer: str
    """Its buffer: "20p" (packets), "30kB", "5ms", "0.5bdp"."""
    queue: str
    """Its queue: "drop-tail" unless given, "red:min=5", "codel", "fq-codel", "xcp", "gwa-rr" …;
    `narrows list` has all.
    """
    mark: str
    """Marking threshold of a drop-tail queue: ECN-capable packets that find at least this much are
    marked (DCTCP's K), like "20p".
    """
    loss: str
    """Packets are lost on the wire, each with this probability, like "0.1%"."""
    loss_burst: float
    """With `loss`: the mean length of a burst of losses in packets (Gilbert and Elliott); losses
    are independent unless given.
    """
    jitter: str
    """The delay varies uniformly by up to this."""
    reorder: bool
    """With `jitter`: whether packets may overtake each other."""
    mtu: str
    """The largest packet on the wire: larger ones are dropped and nobody is told; no limit unless
    given.
    """
    super_packets: bool
    """What leaves a sender as one burst is queued, dropped and sent as one, as in hosts and virtual
    switches with offloads; packets are, one by one, unless given.
    """
    changes: Sequence[ChangeFields | Mapping[str, Any]]
    """What changes while it runs, in the order of time."""
    repeat: str
    """With `changes`: they begin anew after each such time."""
    outages: Sequence[OutageFields | Mapping[str, Any]]
    """Times at which it carries nothing."""
    handovers: HandoversFields | Mapping[str, Any]
    """Its rate and its delay change at regular times, as where one satellite hands over to the
    next.
    """
    trace: str
    """When packets may leave, in place of the rate: the name of a file in the format of mahimahi, a
    line for each opportunity to send 1500 bytes, in milliseconds; repeated to the end of the run.
    """
    hold: HoldFields | Mapping[str, Any]
    """Packets reach its other end at certain times only."""
    policer: PolicerFields | Mapping[str, Any]
    """Packets that come faster are dropped or marked, by a token bucket before the queue."""
    shaper: ShaperFields | Mapping[str, Any]
    """Packets that come faster wait, for a token bucket behind the queue."""
    script: Sequence[ScriptLineFields | Mapping[str, Any]]
    """What happens to which packets."""
    memory: str
    """The name of one of `memories`, which its queue shares with those of other links, of the way
    there only; a buffer is then a limit besides.
    """
    reserved: str
    """With `memory`: bytes of it that are this link's own."""


class MemoryFields(TypedDict, total=False):
    """The fields of a memory."""

    name: Required[str]
    """What links call it."""
    bytes: Required[str]
    """Its size, like "16MB"."""
    alpha: float
    """How many times what is free a queue may hold (a ratio); 1 unless given."""
    cell: str
    """Packets take whole cells of so many bytes; "1B" unless given. Broadcom's Trident+ has "208B".
    """
    background: str | Sequence[tuple[str, str]]
    """What ports of which nothing else is said hold of it, like "2MB", or from which time on they
    do: [["0s", "2MB"], ["5s", "9MB"]].
    """


class AppFields(TypedDict, total=False):
    """The fields of a app."""

    rate: Required[str]
    """The rate at which it makes payload; of datagrams, at which they leave, headers included."""
    on: str
    """The length of a period in which it makes data, like "5s"."""
    off: str
    """The length of the silence between two of those."""
    periods: Literal["fixed", "exponential"]
    """Whether `on` and `off` are exact lengths, "fixed" (the default), or means of exponential
    ones, "exponential".
    """
    silent: Sequence[tuple[str, str]]
    """Further silences, from when to when: [["8s", "13s"]]."""
    frames: float
    """Frames per second, as of a video: what comes between two is offered together. Packet by
    packet unless given.
    """
    deadline: str
    """With `frames`: how old a frame may be when its last packet arrives in order; "150ms" unless
    given. The share that is older is `late_frames` of the results.
    """


class OfferFields(TypedDict, total=False):
    """The fields of a offer."""

    at: Required[str]
    """When, from the beginning of the run on."""
    bytes: str
    """How much; without end unless given."""
    every: str
    """As much again after each such time."""
    until: str
    """With `every`: until then; it has no end unless given."""


class FilesFields(TypedDict, total=False):
    """The fields of a files."""

    off: Required[str]
    """Mean silence between the end of a file and the next."""
    mean: float
    """Mean size in packets; 30 unless given."""
    shape: float
    """Pareto's shape, above 1; 1.35 unless given."""


class ArrivalsFields(TypedDict, total=False):
    """The fields of a arrivals."""

    sizes: Required[str]
    """Their sizes, by name ("web-search", "data-mining", "hadoop", "ali-storage"), "fixed:100kB",
    "pareto:mean=30kB,shape=1.35", or the name of a file of lines `bytes percent`, which ends in
    .cdf; ":max=10MB" after any but the second leaves out all that are larger.
    """
    load: float
    """How many there are: bits that they bring, headers included, over bits that the link `of` can
    carry at the rate given first (a ratio).
    """
    of: str
    """With `load`: the name of a link on their way; the slowest unless given."""
    rate: str
    """How many there are, said as a frequency: "31/s"."""


class IncastFields(TypedDict, total=False):
    """The fields of a incast."""

    size: Required[str]
    """The answer of each flow."""
    every: Required[str]
    """The time from one query to the next; one that comes before the last answer is there waits for
    it.
    """
    jitter: str
    """Each answer begins up to this later, uniformly."""


class WebFields(TypedDict, total=False):
    """The fields of a web."""

    think: str
    """Mean time between a page and the next; "40s" unless given."""
    size_factor: float
    """Sizes of objects are those of the web of 2000 times this; 1 unless given."""
    persistent: str
    """Share of new connections that stay open for several pages, like "15%"; none unless given."""
    connections: int
    """Flows that are one user's connections: the page comes over the first, and then its objects
    over all of them at a time; 1 unless given. `count` is a multiple of it.
    """


_FlowFrom = TypedDict("_FlowFrom", {"from": "str"}, total=False)


class FlowOptions(TypedDict, total=False):
    """Fields of a flow that the functions of `narrows.networks` take as keywords."""

    name: str
    """What tables, figures and files call it, like "video"; its law unless given."""
    start: str
    """When it begins."""
    start_spread: str
    """Each begins up to this later, uniformly; "100ms" unless given."""
    starts: Sequence[str]
    """Exact starts, one for each of `count`, instead of `start` and `start_spread`."""
    stop: str
    """When it offers no more."""
    stops: Sequence[str]
    """Exact stops, the last of the `count` flows first; those without one go on, or to `stop`."""
    size: str
    """Payload to send; endless unless given."""
    app: AppFields | Mapping[str, Any]
    """An application that makes its data at a rate of its own, now and then in silence; the delay
    of its packets is measured.
    """
    offers: Sequence[OfferFields | Mapping[str, Any]]
    """Payload that the application offers at these times of the run instead: [{ at = "0s", bytes =
    "100kB" }, { at = "10s" }]. Our own senders wait until a packet is full, and round the last one
    up.
    """
    telnet: str
    """The application offers one packet at a time, at exponential gaps of this mean, like "100ms".
    """
    files: FilesFields | Mapping[str, Any]
    """Files instead, one after the other, each over a new connection."""
    arrivals: ArrivalsFields | Mapping[str, Any]
    """Transfers that arrive at random instead, each over a new connection of the next flow of the
    group that is idle; `count` is the most at a time, 1000 unless given.
    """
    incast: IncastFields | Mapping[str, Any]
    """Answers to queries instead, each flow's at the same time: incast."""
    web: WebFields | Mapping[str, Any]
    """A web user instead, who thinks, asks for pages and for what is embedded in them."""
    pacing: Literal["none", "even", "exponential", "uniform", "fq", "westwood", "four-hop"]
    """Spacing of packets: "none"; "even", "exponential" or "uniform", a window per round trip;
    "fq", as TCP over Linux's fq; "westwood", by Westwood's bandwidth share, which then grows by 2.5
    % a round trip at the most; "four-hop", by the delay of four hops: two packets in a round trip
    over up to four links. Over QUIC unless given as RFC 9002 recommends.
    """
    pacing_bucket: int
    """With even pacing over TCP: tokens that pile up while nothing leaves, and then leave together;
    they come in at a window per round trip.
    """
    ack_pacing: bool
    """The receiver spaces acknowledgements: those of a round trip evenly over the next."""
    slow_start: Literal["standard", "limited", "hystart", "hystart++"]
    """ "standard", "limited", "hystart" (Linux's, by trains of acknowledgements and delay) or
    "hystart++" (RFC 9406); unless given, hystart for cubic with Linux's habits (but not linux24's),
    else standard.
    """
    max_ssthresh: float
    """RFC 3742's max_ssthresh in packets, with limited slow start; 100 unless given. Given alone,
    it also chooses limited slow start; 0 alone is as if not given.
    """
    ssthresh: float
    """The window in packets at which the first slow start ends; no threshold unless given."""
    ecn: bool
    """ECN as in RFC 3168; laws that need marks, like dctcp, ask for their own kind."""
    ecn_retransmit: bool
    """With ECN: retransmissions are ECN-capable, too, as RFC 2481 lets them and ns-2 has them; RFC
    3168 forbids it. They are not unless true.
    """
    initial_window: float
    """Packets before the first acknowledgement; the habit's unless given."""
    max_window: str
    """The receiver's window; unlimited unless given."""
    send_buffer: str
    """The sender's buffer, in bytes of memory, as Linux counts it: the last number of tcp_wmem, or
    twice SO_SNDBUF. An application that finds no room, or has written `write_size`, goes on once a
    third of it is free. Unlimited unless given.
    """
    write_size: str
    """With `send_buffer`: how much payload the application writes when it finds room, before it
    asks again, like "1310720B", iperf3's ten times 128 kB; all that it may unless given.
    """
    timestamps: bool
    """RFC 7323's timestamps; the habit's unless given."""
    tick: str
    """The clock of the retransmission timer and of RTT samples, which are whole ticks of it, as
    with ns-2's tcpTick_: pacing and a law that asks for RTTs have them so, too, as ns-2's XCP does.
    The habit's unless given: exact samples, and a timer's clock of 10 ms with ns2 and of 1 ms with
    linux; whole ticks of 10 ms with linux24 and of 100 ms with ns2-2000.
    """
    tick_integers: bool
    """With `tick`: the RTT estimate is kept in whole eighths and its variation in whole quarters of
    a tick, as in ns-2 and BSD, so that the timeout stays at three ticks or more; they are exact
    unless true.
    """
    initial_rto: str
    """The retransmission timeout before the first RTT sample; the habit's unless given."""
    min_rto: str
    """The least retransmission timeout, or with linux habits what it is longer than the smoothed
    RTT at least; the habit's unless given.
    """
    limited_transmit: bool
    """Each of the first two duplicate acknowledgements lets a new packet leave (RFC 3042); the
    habit's unless given. A SACK recovery counts what has arrived instead.
    """
    abc: bool
    """The window grows by packets acknowledged (RFC 3465), or if false by acknowledgements (RFC
    5681), as in Linux 2.4; the habit's unless given.
    """
    prr: bool
    """Proportional rate reduction in a SACK recovery; the habit's unless given."""
    rack: bool
    """RACK (RFC 8985): losses are found by time in a SACK recovery; the habit's unless given."""
    tlp: bool
    """With `rack`: tail loss probes (RFC 8985 §7); the habit's unless given."""
    frto: bool
    """With `rack`: needless timeouts are found out by new data (RFC 5682); the habit's unless
    given.
    """
    dsack: bool
    """The receiver reports packets that arrive again (RFC 2883); the habit's unless given."""
    sack_compression: bool
    """The receiver puts acknowledgements of data out of order together for up to 1 ms, as Linux's
    does; the habit's unless given.
    """
    handshake: bool
    """Each connection begins with a handshake; the habit's unless given."""
    cwnd_validation: bool
    """A window grows only if it was full in the round trip, in slow start if half of it was used,
    and shrinks after a timeout without use (RFC 7661); the habit's unless given.
    """
    slow_start_after_idle: bool
    """The window falls after a silence, as the habit has it; Linux's sysctl of that name; it does
    unless false.
    """
    rate_halving: float
    """Linux 2.6.22's rate halving in a SACK recovery, as ns-2 has it, instead of `prr`: the window
    is this share of the threshold until the recovery is over, and slow start makes up the rest; 0.5
    for laws with Reno's min_cwnd, 1 for those without.
    """
    halving_stalls: bool
    """With `rate_halving`: the packets in flight stay as many as before until the recovery is over,
    as ns-2's do whenever `overhead_` delays a departure.
    """
    overhead: str
    """Each time it may send it waits up to this, uniformly, as with ns-2's `overhead_`."""
    host: str | HostFields | Mapping[str, Any]
    """What the hosts at both ends are like; ideal unless given: they see everything when it
    happens. A name alone, like "mine", is the `stack` of an ideal host.
    """
    quantum: int | Literal["auto"]
    """Packets that leave together, as segmentation offload makes them: a number, or "auto", a
    millisecond at the flow's rate, as Linux does; "auto" over TCP with linux habits unless given,
    else 1.
    """
    ack_every: int | Literal["gro"]
    """One acknowledgement for this many packets, or "gro", for what a receiver with generic receive
    offload takes as one: up to 64 kB within 50 µs.
    """
    ack_delay: str
    """The longest an acknowledgement may be delayed. Without `ack_every`, acknowledgements are sent
    at this interval only.
    """
    ack_size: str
    """An acknowledgement on the wire; as many bytes as a data packet's headers unless given. ns-2's
    have 40 even with timestamps.
    """
    reliable: bool
    """With E-TCP: whether it sends again what was lost; it does unless false."""
    raptorq: int
    """With E-TCP: instead of sending lost data again, it sends symbols of a RaptorQ code (RFC 6330)
    over blocks of this many packets, like 1000.
    """
    header_checksum: bool
    """With E-TCP: headers have a checksum of their own, so that what a link's `loss` does to its
    packets is damage to their payload. The receiver then tells it from losses in queues, and
    congestion control does not answer it.
    """
    datagrams: Literal["constant", "poisson"]
    """Datagrams at the rate of `app` that nobody answers, instead of TCP: "constant" or "poisson"
    gaps.
    """
    reverse: WayBackFields | Mapping[str, Any] | bool
    """In a preset: from right to left. Between nodes: from `to` to `from`."""
    rtt_spread: str
    """In a preset: the base RTTs of `count` flows are spread evenly from the first's to this much
    more.
    """
    over: tuple[int, int]
    """In a row: the first and the last link, from 1."""


class FlowFields(_FlowFrom, FlowOptions, total=False):
    """The fields of a flow."""

    cc: Law
    """A law, its settings, its recovery: "cubic" (the default), "cubic:beta=0.8", "reno+newreno",
    "cubic+quic"; "newreno", "sack", "quic" are Reno's law over the recovery of that name, the last
    of which is QUIC's instead of TCP's. "reno" is over SACK, as in Linux; "reno+reno" is without,
    as ns-2 and the papers have it.
    """
    count: int
    """The number of such flows; 1 unless given."""
    tcp: Literal["ns2", "ns2-2005", "ns2-2000", "linux", "linux5", "l4steam", "linux24"]
    """The habits of this flow, if they differ from the scenario's."""
    packet: str
    """A packet on the wire, if it differs from the scenario's."""
    rtt: str
    """In a preset: its base RTT, if that differs."""
    to: str
    """In a general network: the receiver's node."""


class StallFields(TypedDict, total=False):
    """The fields of a stall."""

    every: Required[str]
    """Mean time from the end of a stall to the next."""
    length: Required[str]
    """Mean length of a stall."""


class HostFields(TypedDict, total=False):
    """The fields of a host."""

    like: Literal["ideal", "tokio"]
    """What it is like apart from what else is said here: "ideal" unless given, or "tokio", a
    program on tokio's runtime.
    """
    stack: str
    """Whose stack runs on it, instead of a law of ours: the name of one that a program brings
    along, as narrows-lab and `nw.run` let it.
    """
    tick: str
    """Its timers (pacing, retransmission, delayed acknowledgements) go off at multiples of this,
    counted from a random offset.
    """
    batch: str
    """The first packet that arrives starts a batch, which is handled this much later, together with
    all that have arrived by then, like a network card's rx-usecs.
    """
    wait: str
    """Mean of a further time, exponential, until what arrives is handled, since the processor is
    busy; it is part of each RTT, the handshake's too.
    """
    stall: StallFields | Mapping[str, Any]
    """Now and then it stands still; what arrives or expires meanwhile is handled at the end, in
    order.
    """
    cpu: str
    """With a stack that is not ours: the time that each datagram takes its processor, sent or
    received.
    """
    train: int
    """With `cpu`: at most so many datagrams are handed to the link together, as segmentation
    offload does; 10 unless given.
    """


class TraceFields(TypedDict, total=False):
    """The fields of a trace."""

    links: Sequence[str]
    """Links whose packets go to a pcapng file, by name."""
    flows: Sequence[int]
    """Flows whose recovery goes to a qlog file, by number from 0."""


class SeedsFields(TypedDict, total=False):
    """The fields of a seeds."""

    count: int
    """The number of seeds, from the scenario's own on; 5 unless given."""
    confidence: str
    """The confidence of the interval that decides; "95%" unless given."""


class ScenarioOptions(TypedDict, total=False):
    """Fields of a scenario that the functions of `narrows.networks` take as keywords."""

    seed: int
    """Where all randomness comes from; 1 unless given."""
    duration: str
    """Simulated time, like "60s", which it is unless given."""
    warmup: str
    """The measured window begins here; at a quarter of the duration unless given."""
    tcp: Literal["ns2", "ns2-2005", "ns2-2000", "linux", "linux5", "l4steam", "linux24"]
    """The TCP's habits: "linux" (the default), "linux5" (5 to 6.5), "l4steam" (L4STeam's 5.15),
    "linux24" (2.4, of 2004), "ns2" (2.35), "ns2-2005" (2.28) or "ns2-2000" (2.1b6).
    """
    packet: str
    """A data packet on the wire, headers included; "1500B" unless given, "1000B" with ns2."""
    sample: str
    """The interval between samples of windows and queues; a thousandth of the duration unless
    given; "0s" for none.
    """
    memories: Sequence[MemoryFields | Mapping[str, Any]]
    """Memories that queues of links share."""
    trace: str | TraceFields | Mapping[str, Any]
    """What to write down packet by packet."""
    expect: Mapping[str, Any]
    """What runs are expected to show, for `narrows check`."""
    reference: Mapping[str, Mapping[str, Any]]
    """Scenarios that bounds of `expect` speak of, by name."""
    seeds: SeedsFields | Mapping[str, Any]
    """Under how many seeds `expect` is tried."""


class ScenarioFields(ScenarioOptions, total=False):
    """The fields of a scenario."""

    rtt: str
    """The base RTT that "bdp" means, for a network of `links`; the presets know theirs."""
    dumbbell: DumbbellFields | Mapping[str, Any]
    """One bottleneck."""
    parking_lot: ParkingLotFields | Mapping[str, Any]
    """Equal bottlenecks in a row."""
    chain: ChainFields | Mapping[str, Any]
    """Different links in a row."""
    links: Sequence[LinkFields | Mapping[str, Any]]
    """Any network: its nodes are those that the links name."""
    flows: Sequence[FlowFields | Mapping[str, Any]]
    """The flows."""


class DumbbellKeywords(ScenarioOptions, DumbbellOptions, FlowOptions, total=False):
    """More of a run over a dumbbell, of the network, and of each flow."""


class ParkingLotKeywords(ScenarioOptions, ParkingLotOptions, FlowOptions, total=False):
    """More of a run over a parking lot, of the network, and of each flow."""


class ChainKeywords(ScenarioOptions, ChainOptions, FlowOptions, total=False):
    """More of a run over a chain, of the network, and of each flow."""
