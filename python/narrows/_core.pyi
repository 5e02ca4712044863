from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

class Error(ValueError): ...
class ScenarioError(Error): ...
class BoundsError(ValueError): ...

class Ack:
    """An acknowledgement that newly acknowledges packets.

    Attributes
    ----------
    now
        When the acknowledgement arrived, in seconds.
    packets
        Packets newly acknowledged, cumulatively or selectively.
    rtt, smoothed_rtt, min_rtt
        The latest sample, the moving average and the minimum, in seconds; None until there is a
        sample.
    in_flight
        Packets in flight after this acknowledgement.
    window_limited
        Whether the window, not the application or the receiver, limited the sender.
    recovering
        Whether a recovery is under way; laws leave the window alone while it is.
    rtt_is_fresh
        Whether this acknowledgement brought the sample `rtt`.
    marked
        How many of these packets arrived with an ECN mark.
    newest, next
        The number of the newest packet that has been answered, and of the next one to leave: a
        round trip is over once `newest` reaches what `next` was when it began.
    delivery_rate, delivered, app_limited
        Packets per second between the departure of the newest of these and now, None if the
        interval tells nothing; packets delivered since the connection began; whether the newest of
        these left when the application had too little to send. None, None and False without
        ``rate_samples``.
    """

    now: float
    packets: float
    rtt: float | None
    smoothed_rtt: float | None
    min_rtt: float | None
    in_flight: float
    window_limited: bool
    recovering: bool
    rtt_is_fresh: bool
    marked: float
    newest: int
    next: int
    delivery_rate: float | None
    delivered: float | None
    app_limited: bool

    def __init__(
        self,
        *,
        now: float = 0.0,
        packets: float = 1.0,
        rtt: float | None = None,
        smoothed_rtt: float | None = None,
        min_rtt: float | None = None,
        in_flight: float = 0.0,
        window_limited: bool = True,
        recovering: bool = False,
        rtt_is_fresh: bool = True,
        marked: float = 0.0,
        newest: int = 0,
        next: int = 1,
        delivery_rate: float | None = None,
        delivered: float | None = None,
        app_limited: bool = False,
    ) -> None: ...

class Loss:
    """A lost packet, or an expiry of the retransmission timer.

    Attributes
    ----------
    now
        When the loss was detected, in seconds.
    opens_epoch
        Whether it is the first loss of its recovery epoch.
    timeout
        Whether the retransmission timer detected it.
    in_flight
        Packets in flight when the lost packet was sent, itself included; 0 for a timeout.
    """

    now: float
    opens_epoch: bool
    timeout: bool
    in_flight: float

    def __init__(
        self,
        *,
        now: float = 0.0,
        opens_epoch: bool = True,
        timeout: bool = False,
        in_flight: float = 0.0,
    ) -> None: ...

class Mark:
    """Packets that arrived with an ECN mark.

    Attributes
    ----------
    now
        When the acknowledgement arrived, in seconds.
    packets
        Number of packets.
    opens_epoch
        Whether it is the first mark of a round trip, outside of recovery: there is one response per
        window of data (RFC 3168 §6.1.2).
    """

    now: float
    packets: float
    opens_epoch: bool

    def __init__(
        self, *, now: float = 0.0, packets: float = 1.0, opens_epoch: bool = True
    ) -> None: ...

class Interval:
    """What a sender has learnt in an interval: packets, seconds, packets per second.

    Attributes
    ----------
    now, duration
        When it ended, and its length, in seconds.
    sent
        Packets sent in it, retransmissions included.
    acked, lost, marked
        Packets newly acknowledged, found lost, and arrived with a mark.
    timeouts, epochs
        Retransmission timeouts, and recovery epochs that losses opened.
    rtt, rtt_min, rtt_max, rtt_samples
        Mean, least and largest of the RTT's samples in seconds, and their number; of the interval
        before if there is none, 0 before there was one.
    conn_min_rtt, srtt, rtt_latest
        The least RTT so far, the moving average of RFC 6298 and the newest sample, in seconds.
    rtt_increase
        Mean of the later half of the samples less that of the earlier, in seconds.
    rtt_gradient
        Slope of the samples over time, a ratio.
    delivery_rate, delivery_rate_max
        Packets acknowledged per second, and the largest sample of the delivery rate.
    in_flight
        Packets in flight after the last acknowledgement.
    window, rate
        As they were set for it; the rate is 0 for none.
    limited
        Share of it in which the window or the pacer kept packets from leaving.
    """

    now: float
    duration: float
    sent: float
    acked: float
    lost: float
    marked: float
    timeouts: float
    epochs: float
    rtt: float
    rtt_min: float
    rtt_max: float
    rtt_samples: float
    conn_min_rtt: float
    srtt: float
    rtt_latest: float
    rtt_increase: float
    rtt_gradient: float
    delivery_rate: float
    delivery_rate_max: float
    in_flight: float
    window: float
    rate: float
    limited: float

    def __init__(
        self,
        *,
        now: float = 0.0,
        duration: float = 0.0,
        sent: float = 0.0,
        acked: float = 0.0,
        lost: float = 0.0,
        marked: float = 0.0,
        timeouts: float = 0.0,
        epochs: float = 0.0,
        rtt: float = 0.0,
        rtt_min: float = 0.0,
        rtt_max: float = 0.0,
        rtt_samples: float = 0.0,
        conn_min_rtt: float = 0.0,
        srtt: float = 0.0,
        rtt_latest: float = 0.0,
        rtt_increase: float = 0.0,
        rtt_gradient: float = 0.0,
        delivery_rate: float = 0.0,
        delivery_rate_max: float = 0.0,
        in_flight: float = 0.0,
        window: float = 0.0,
        rate: float = 0.0,
        limited: float = 0.0,
    ) -> None: ...
    def row(self) -> list[float]: ...

class Table:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Run:
    @property
    def wall(self) -> float: ...
    def table(self, name: str) -> Table: ...
    def write(self, folder: str, prefix: str = "") -> list[str]: ...
    def file(self, key: str, scenario: str) -> bytes: ...

class Scenario:
    def __new__(cls, toml: str) -> Scenario: ...
    @staticmethod
    def from_json(text: str) -> Scenario: ...
    def patched(self, values: list[tuple[str, str]]) -> Scenario: ...
    def to_json(self) -> str: ...
    def to_toml(self) -> str: ...
    def canonical(self, series: bool) -> Scenario: ...
    def check(self, own: Mapping[str, object] | None = None) -> Checked: ...
    @property
    def laws(self) -> list[str]: ...
    @property
    def seed(self) -> int: ...

class Checked:
    def buffers(self) -> list[tuple[str, str]]: ...
    def weight(self) -> float: ...
    def warnings(self) -> list[str]: ...
    def times(self) -> tuple[float, float]: ...
    def expectations(
        self,
    ) -> list[tuple[str, str, bool, str, str, str, str, tuple[float, float] | None]]: ...
    def needs_samples(self) -> bool: ...
    def references(self) -> list[tuple[str, str, Checked]]: ...
    def seeds(self) -> tuple[int, float]: ...
    def expected(self, runs: list[Run]) -> list[list[float]]: ...

class Intervals:
    def __new__(
        cls, places: int, learners: int = 1, threads: int = 1, below: str | None = None
    ) -> Intervals: ...
    @staticmethod
    def columns() -> list[str]: ...
    @staticmethod
    def truths() -> list[str]: ...
    def lay(
        self,
        place: int,
        scenario: Scenario,
        seed: int,
        own: Mapping[str, object] | None = None,
    ) -> tuple[list[tuple[float, float]], float]: ...
    def begin(self, place: int, wanted: object) -> None: ...
    def step(self, places: Sequence[int], wanted: object | None, rows: object) -> None: ...
    def truth(self, places: Sequence[int], rows: object) -> None: ...
    def running(self, place: int) -> list[bool]: ...
    def again(self, place: int, warmup: float = 0.0) -> tuple[Checked, int]: ...
    def delivered(self) -> int: ...

class Agents:
    def __new__(cls, preset: str, count: int) -> Agents: ...
    def begin(
        self, agent: int, rate: float, base_rtt: float
    ) -> tuple[float, float, float, int]: ...
    def act(self, agents: Sequence[int], actions: object, wanted: object) -> None: ...
    def warmed_up(self, agents: Sequence[int], rows: object) -> None: ...
    def observe(self, agents: Sequence[int], rows: object) -> None: ...
    def seen(self, agents: Sequence[int], seen: object) -> None: ...

class PolicyNet:
    def __new__(
        cls,
        preset: str,
        activation: str,
        layers: list[tuple[list[float], list[float]]],
        normaliser: list[list[float]] | None = None,
    ) -> PolicyNet: ...
    def says(self, seen: object, said: object) -> None: ...

class FormulaCode:
    def __new__(
        cls,
        state: list[tuple[str, str]],
        on_ack: list[str],
        on_loss: list[str],
        on_interval: list[str],
        own_recovery: bool,
    ) -> FormulaCode: ...

class WasmCode:
    def __new__(cls, module: bytes) -> WasmCode: ...

def learns(cc: str) -> bool: ...
def learning_presets() -> list[
    tuple[str, list[tuple[str, float, float]], int, float, str | None, int]
]: ...

Line = tuple[str, str, str]
Setting = tuple[str, str, str, str]
Named = tuple[str, str, str, list[str], list[Setting]]

def causes() -> str: ...
def why(file: Path, lines: int, watch: Callable[[int], object]) -> str: ...
def decided_by(cc: str) -> list[str]: ...
def controllers() -> list[Named]: ...
def metrics() -> list[tuple[str, str, str, str, str, str]]: ...
def recoveries() -> list[Line]: ...
def slow_starts() -> list[Line]: ...
def queues() -> list[Named]: ...
def presets() -> list[Line]: ...
def engine() -> str: ...
def stacks() -> list[Line]: ...
def available_memory() -> float | None: ...
def schema() -> str: ...
def conform_checks() -> list[tuple[str, str, str, str, str, str, str]]: ...
def conform_chosen(place: str, names: str) -> list[str]: ...
def conform_subject(cc: str, profile: str | None = None) -> tuple[str, str]: ...
def conform_rows(
    cc: str,
    profile: str | None = None,
    only: str = "all",
    fields: str = "{}",
    transport: str | None = None,
    own: Mapping[str, object] | None = None,
) -> list[tuple[str, str, float, str, str, list[str]]]: ...
def conform_wire(
    scenario: str, rtt: float, own: Mapping[str, object] | None = None
) -> tuple[list[tuple[float, float]], list[tuple[float, float, float, bool, bool]]]: ...
def seconds(place: str, text: str) -> float: ...
def age(place: str, text: str) -> float: ...
def run(
    checked: Checked,
    seed: int | None = None,
    progress: Callable[[float], None] | None = None,
    traces_to: str | None = None,
) -> Run: ...
def doctor() -> list[tuple[str, bool, bool, str]]: ...
def lab(
    scenario: Scenario,
    checked: Checked,
    seed: int,
    progress: Callable[[float], None] | None = None,
) -> tuple[Run, tuple[float, float, float, int, float, int], str | None]: ...
def measure_host(
    seconds: float, progress: Callable[[float], None] | None = None
) -> tuple[list[float], list[float], int, float, float]: ...
def stand(
    scenario: Scenario,
    seed: int,
    single: bool,
    behind: bool,
    watch: Callable[
        [Path, Path, tuple[str, str], list[tuple[int, int, int, int, int, list[float], int]]],
        None,
    ],
) -> None: ...
def become_root() -> None: ...
def enter(path: str | Path) -> None: ...
def connections() -> list[
    tuple[str, str, str, float, float, float, int, float, int, int, int, int]
]: ...
def kernel_laws() -> list[tuple[str, str]]: ...
def kernel_installed() -> list[tuple[str, list[str]]]: ...
def kernel_check(law: str) -> None: ...
def kernel_install(law: str) -> str: ...
def kernel_uninstall(name: str) -> None: ...
def send_file(
    file: Path, to: str, cc: str, patience: float, watch: Callable[[str, str, int, int], object]
) -> tuple[
    tuple[str, int, list[tuple[str, str]], int, str, int],
    tuple[float, int, int, int, float, float],
]: ...

class Receiver:
    def __new__(cls, directory: Path, address: str, identity: Path | None) -> Receiver: ...
    def ticket(self, host: str) -> str: ...
    def receive(
        self, watch: Callable[[str, str, int, int], object]
    ) -> tuple[Path, int, int, str, int, float, str]: ...
