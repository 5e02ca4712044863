"""Controllers written in Python run like and beside built-in ones, and mistakes are reported."""

from __future__ import annotations

import gc
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

import narrows as nw
from binary import ROOT


class Reno(nw.Controller):
    """Reno's law, as in the built-in controller."""

    def __init__(self, initial_window: float) -> None:
        self.cwnd, self.ssthresh = initial_window, float("inf")

    def on_ack(self, ack: nw.Ack) -> None:
        if ack.window_limited and not ack.recovering:
            self.cwnd = (
                min(self.cwnd + ack.packets, self.ssthresh)
                if self.cwnd < self.ssthresh
                else self.cwnd + ack.packets / self.cwnd
            )

    def on_loss(self, loss: nw.Loss) -> None:
        if loss.opens_epoch:
            self.ssthresh = max(self.cwnd / 2, 2.0)
            self.cwnd = 1.0 if loss.timeout else self.ssthresh

    def window(self) -> float:
        return self.cwnd


def test_it_does_what_the_built_in_law_does_packet_by_packet() -> None:
    mine, built_in = (
        nw.run(nw.dumbbell("20Mbps", "40ms", "30p", cc, 2, duration="20s", tcp="ns2"))
        for cc in (Reno, "sack")
    )
    assert mine.flows.drop("cc").equals(built_in.flows.drop("cc"))
    assert mine.flow_series.equals(built_in.flow_series)


class Halver(nw.Controller):
    """Reno's law in congestion avoidance, without a threshold that anybody sees."""

    def __init__(self, initial_window: float) -> None:
        self.cwnd = initial_window

    def on_ack(self, ack: nw.Ack) -> None:
        if ack.window_limited and not ack.recovering:
            self.cwnd += ack.packets / self.cwnd

    def on_loss(self, loss: nw.Loss) -> None:
        if loss.opens_epoch:
            self.cwnd = max(self.cwnd / 2, 2.0)

    def window(self) -> float:
        return self.cwnd


def test_an_application_that_is_the_limit_lets_no_window_grow_after_a_loss() -> None:
    # A slow start ends with the first loss, for whoever has no threshold, too; then a window that
    # is not used does not grow, or the application's next burst would be as long as the run.
    result = nw.run(
        nw.Scenario(
            duration="60s",
            sample="100ms",
            dumbbell={"rate": "50Mbps", "rtt": "40ms", "buffer": "1bdp", "loss": "0.1%"},
            flows=[{"cc": Halver, "app": {"rate": "5Mbps"}}],
        )
    )
    after = result.flow_series.filter(pl.col("time") > 20)["window"]
    used = 5e6 * 0.04 / (8 * 1448)
    assert len(after) == 400
    assert after.to_numpy().max() < 3 * used


@pytest.mark.parametrize(
    ("threshold", "message"),
    [("much", "'much', which is not a number"), (-1.0, "packets, at least 0, or None")],
)
def test_a_threshold_that_is_none_is_named(threshold: Any, message: str) -> None:
    class Wrong(Halver):
        ssthresh = threshold

    with pytest.raises(ValueError, match=message):
        nw.run(nw.dumbbell("20Mbps", "40ms", "30p", Wrong, duration="1s"))


def test_it_runs_beside_built_in_laws_under_its_name() -> None:
    path = {"rate": "20Mbps", "rtt": "40ms", "buffer": "1bdp"}
    result = nw.run(
        nw.Scenario(duration="20s", dumbbell=path, flows=[{"cc": Reno}, {"cc": "cubic"}])
    )
    assert result.flows["cc"].to_list() == ["Reno", "cubic"]
    assert (result.flows["goodput"].to_numpy() > 1e6).all()


def raising(method: str) -> type[nw.Controller]:
    """Return a controller class that raises KeyError in `method`."""

    def fails(*_: object) -> float:
        raise KeyError(method)

    return type("Raises", (Reno,), {method: fails})


@pytest.mark.parametrize("method", ["__init__", "on_ack", "on_loss", "window"])
def test_what_it_raises_ends_the_run(method: str) -> None:
    with pytest.raises(KeyError, match=method):
        nw.run(nw.dumbbell("20Mbps", "40ms", "10p", cc=raising(method), duration="60s"))


@pytest.mark.parametrize("window", [float("nan"), 0.5, -1.0, float("inf")])
def test_a_window_that_is_none_is_named(window: float) -> None:
    bad = type("Bad", (Reno,), {"window": lambda _: window})
    with pytest.raises(ValueError, match=r"Bad\.window\(\) returned"):
        nw.run(nw.dumbbell("20Mbps", "40ms", "10p", cc=bad, duration="1s"))


def test_what_is_missing_is_named() -> None:
    class Empty(nw.Controller):
        def __init__(self, initial_window: float) -> None:
            self.initial_window = initial_window

    with pytest.raises(NotImplementedError, match=r"Empty needs window\(self\)"):
        nw.run(nw.dumbbell("20Mbps", "40ms", "10p", cc=Empty, duration="1s"))


def test_a_class_that_is_no_controller_and_two_of_one_name_are_mistakes() -> None:
    with pytest.raises(nw.ScenarioError, match="int is not a controller"):
        nw.dumbbell("20Mbps", "40ms", "10p", cc=int)  # type: ignore[arg-type]
    other = type("Reno", (Reno,), {})
    with pytest.raises(nw.ScenarioError, match="two classes are named Reno"):
        nw.Scenario(
            dumbbell={"rate": "1Mbps", "rtt": "40ms", "buffer": "9p"},
            flows=[{"cc": Reno}, {"cc": other}],
        )
    with pytest.raises(nw.ScenarioError, match="Reno is your own law and takes no settings"):
        nw.Scenario(
            dumbbell={"rate": "1Mbps", "rtt": "40ms", "buffer": "9p"},
            flows=[{"cc": Reno}, {"cc": "Reno:beta=0.5"}],
        )


def test_the_example_runs(tmp_path: Path) -> None:
    picture = tmp_path / "windows.png"
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "own_controller.py", picture],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Sqrt" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


class Constant(nw.Controller):
    """A window that no loss cuts."""

    def __init__(self, initial_window: float) -> None:
        del initial_window

    def on_ack(self, ack: nw.Ack) -> None:
        del ack

    def on_loss(self, loss: nw.Loss) -> None:
        del loss

    def window(self) -> float:
        return 100.0


class ConstantInRecovery(Constant):
    """The same, in a recovery too."""

    own_recovery = True


def test_a_law_with_a_recovery_of_its_own_keeps_its_window_full_in_recovery() -> None:
    network = {"rate": "100Mbps", "rtt": "40ms", "buffer": "1bdp", "loss": "2%"}
    metered, own = (
        nw.run(nw.Scenario(duration="10s", dumbbell=network, flows=[{"cc": cc}]))
        for cc in (Constant, ConstantInRecovery)
    )
    series = own.flow_series.filter(own.flow_series["time"] > 1)
    # One packet is always on its way back, and a loss is found three packets later.
    assert series["in_flight"].to_numpy().min() >= 95
    assert own.flows["goodput"][0] > metered.flows["goodput"][0]


class Paced(nw.Controller):
    """Leaves the window open and sends at a rate."""

    def __init__(self, initial_window: float = 10.0, *, rate: float = 100.0) -> None:
        self.cwnd, self.rate = 1000.0, rate

    def on_ack(self, ack: nw.Ack) -> None:
        pass

    def on_loss(self, loss: nw.Loss) -> None:
        pass

    def window(self) -> float:
        return self.cwnd

    def pacing_rate(self) -> float | None:
        return self.rate


class Timed(Paced):
    """Begins with one packet per second and sends two hundred from the third second on."""

    told: ClassVar[list[float]] = []

    def timer(self) -> float | None:
        return 3.0 if self.rate < 200.0 else None

    def on_timer(self, now: float) -> None:
        self.told.append(now)
        self.rate = 200.0


class Marked(Paced):
    """Counts marks, and leaves with ECT(0)."""

    ecn = "classic"
    packets: ClassVar[list[float]] = []

    def on_mark(self, mark: nw.Mark) -> None:
        self.packets.append(mark.packets)


class Sampled(Paced):
    """Keeps the newest delivery rate."""

    rate_samples = True
    rates: ClassVar[list[float]] = []

    def on_ack(self, ack: nw.Ack) -> None:
        if ack.delivery_rate is not None:
            self.rates.append(ack.delivery_rate)


def send(cc: Any, **more: Any) -> nw.Result:
    return nw.run(nw.dumbbell("100Mbps", "40ms", "1bdp", cc=cc, duration="8s", **more))


def test_a_rate_paces() -> None:
    # 100 and 250 packets per second with 1448 bytes of payload.
    for cc, rate in ((Paced, 100), (Paced(rate=250.0), 250), (partial(Paced, rate=250.0), 250)):
        flow = send(cc).flows.row(0, named=True)
        assert flow["goodput"] == pytest.approx(rate * 1448 * 8, rel=0.01)
        assert flow["limited_by_pacing"] > 0.99
    assert send(Paced(rate=250.0)).flows["cc"][0] == "Paced:rate=250.0"


def test_a_timer_goes_off_when_it_says() -> None:
    flow = send(Timed(rate=1.0), start_spread="0s", warmup="5s").flows.row(0, named=True)
    assert Timed.told == [3.0]
    assert flow["goodput"] == pytest.approx(200 * 1448 * 8, rel=0.01)
    Timed.told.clear()
    scenario = nw.dumbbell("50Mbps", "40ms", "1bdp", cc=Timed, start_spread="0s", duration="6s")
    nw.run(scenario.with_({"flows[0].cc": "Timed+quic"}))
    assert len(Timed.told) == 1, "over QUIC a law has its timer, too"


def test_marks_are_told() -> None:
    result = send(Marked(rate=10000.0), mark="20p")
    assert result.links["marks"][0] > 0
    assert sum(Marked.packets) >= result.links["marks"][0]


def test_samples_of_the_delivery_rate_are_told() -> None:
    send(Sampled(rate=500.0))
    assert np.median(Sampled.rates) == pytest.approx(500.0, rel=0.02)
    with pytest.raises(ValueError, match="there is no on_mark"):
        send(type("Deaf", (Paced,), {"ecn": "classic"}))


@pytest.mark.parametrize(
    ("method", "answer", "said"),
    [
        ("window", 1e8, r"Wrong.window\(\) returned 100000000; it must return a number of packets"),
        ("pacing_rate", 0.0, r"Wrong.pacing_rate\(\) returned 0; it must return None or packets"),
        ("timer", -1.0, r"Wrong.timer\(\) returned -1; it must return None or a time"),
    ],
)
def test_an_answer_out_of_bounds_ends_the_run(method: str, answer: float, said: str) -> None:
    methods: dict[str, Any] = {method: lambda _: answer}
    if method == "timer":
        methods["on_timer"] = lambda _, now: None
    with pytest.raises(ValueError, match=said):
        send(type("Wrong", (Paced,), methods))


def test_a_sweep_runs_own_controllers_over_threads_and_processes(tmp_path: Path) -> None:
    base = nw.dumbbell("10Mbps", "40ms", "20p", duration="2s")
    laws = ["cubic", Paced, Paced(rate=250.0)]
    one = nw.sweep(base, cc=laws, seeds=2, cache=tmp_path)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        other = nw.sweep(base, cc=laws, seeds=2, cache=tmp_path, executor=pool)
    assert one.failures == other.failures == []
    assert one.runs["cc"].unique(maintain_order=True).to_list() == [
        *("cubic", "Paced", "Paced:rate=250.0")
    ]
    assert one.runs.equals(other.runs)
    goodput = one.means("goodput")["goodput"].to_list()
    assert goodput[2] == pytest.approx(2.5 * goodput[1], rel=0.02)
    del one, other
    gc.collect()
    assert not list(tmp_path.glob("passing-*"))


def test_an_instance_and_a_built_in_name_are_refused() -> None:
    with pytest.raises(nw.ScenarioError, match=r"each flow needs its own; write Paced for the"):
        send(Paced(10.0))
    with pytest.raises(nw.ScenarioError, match="a built-in law is named newreno too"):
        send(type("newreno", (Paced,), {}))


def test_copa_in_python_is_the_built_in_law() -> None:
    from narrows.examples.copa import Copa  # noqa: PLC0415

    path = nw.dumbbell("20Mbps", "40ms", "2bdp", flows=2, duration="40s", overhead="100us")
    found = nw.compare(path, [Copa, "copa:competitive=off:reduce_on_loss=off"], seeds=3)
    queue = found.summary.group_by("cc", maintain_order=True).agg(pl.col("mean_queue").mean())
    # About 1/delta packets for each of two flows; seeds of one law differ by some percent.
    assert queue["mean_queue"][0] == pytest.approx(queue["mean_queue"][1], rel=0.1)
    windows = [result.flow_series["window"].mean() for result in found.results]
    assert windows[0] == pytest.approx(windows[3], rel=0.05)


def test_a_law_with_parameters_is_tested_alone_and_runs() -> None:
    law = Paced(rate=250.0)
    assert isinstance(law, nw.Controller) and law.pacing_rate() == 250.0
    twice = nw.Scenario(
        dumbbell={"rate": "10Mbps", "rtt": "40ms", "buffer": "20p"},
        duration="2s",
        flows=[{"cc": law}, {"cc": partial(Paced, rate=100.0)}, {"cc": partial(Paced, rate=100.0)}],
    )
    assert nw.run(twice).flows["cc"].unique(maintain_order=True).to_list() == [
        *("Paced:rate=250.0", "Paced:rate=100.0")
    ]


def test_laws_of_one_name_at_several_points_are_several_laws(tmp_path: Path) -> None:
    def path(rate: float) -> nw.Scenario:
        law = lambda _: Paced(10.0, rate=rate)  # noqa: E731
        return nw.dumbbell("10Mbps", "40ms", "1bdp", cc=law, duration="4s")

    swept = nw.sweep(path, rate=[100.0, 200.0], cache=tmp_path)
    one, other = swept.runs["goodput"].to_list()
    assert other == pytest.approx(2 * one, rel=0.05)


def test_a_class_that_takes_no_window_is_named() -> None:
    class Alone(Reno):
        def __init__(self) -> None:
            super().__init__(10.0)

    with pytest.raises(nw.ScenarioError, match=r"Alone cannot be called with the initial window"):
        nw.dumbbell("10Mbps", "40ms", "20p", cc=Alone)
