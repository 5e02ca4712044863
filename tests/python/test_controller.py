"""Controllers written in Python run like and beside built-in ones, and mistakes are reported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import narrows as nw
import pytest
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
    # Only the built-in law reports ssthresh.
    assert mine.flow_series.drop("ssthresh").equals(built_in.flow_series.drop("ssthresh"))


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
