"""A cell as a scenario: nothing here is chosen by what was measured."""

from __future__ import annotations

from typing import Any

from narrows.networks import dumbbell
from narrows.scenario import Scenario
from narrows_papers.bench import Bench
from narrows_papers.testbeds.cell import Cell, Group

# htb and bfifo count the 14 bytes of an Ethernet header; a packet here has 1500 bytes.
FRAME = 1500 / 1514
# Linux's Reno has SACK, RACK and PRR; narrows' `reno` is RFC 5681's recovery.
LAWS = {"cubic": "cubic", "reno": "sack", "bbr1": "bbr1", "bbr3": "bbr", "prague": "prague"}
QUEUES = {
    "fifo": "drop-tail",
    "fifo-threshold": "drop-tail",
    "codel": "codel",
    "fq-codel": "fq-codel",
    "pie": "pie",
    "dualpi2": "dualpi2:step=1ms",
}
# Runs of three hours are shortened. Of these the first tenth is not measured: a start would weigh
# nine times as much as it does there, and with it the median loss is 1.45 times the kernel's.
LONGEST_S, START = 1200.0, 0.1
FASTEST_MBPS = 500


def why_not(cell: Cell) -> str:
    """Return why a cell is not run; empty if it is.

    Parameters
    ----------
    cell
        A cell.

    Returns
    -------
    str
        A reason, the same for all cells of its kind.
    """
    kind = cell.queue["kind"]
    if any(group.law not in LAWS for group in cell.groups):
        return "BBRv2 is no law of narrows"
    if kind not in QUEUES:
        return f"there is no queue {kind}"
    if cell.rate_mbps > FASTEST_MBPS:
        return "1 and 10 Gbps for hours are not run yet"
    return ""


def scenario(bench: Bench, cell: Cell) -> Scenario:
    """Return the scenario of a cell.

    Parameters
    ----------
    bench
        Which scales durations.
    cell
        A cell that `why_not` has nothing against.

    Returns
    -------
    Scenario
        A dumbbell of Linux's hosts.
    """
    length = min(cell.duration_s, LONGEST_S)
    warmup = cell.warmup_s * length / cell.duration_s
    if length < cell.duration_s:
        warmup = max(warmup, START * length)
    fields: dict[str, Any] = {}
    if cell.queue["kind"] == "fifo-threshold":
        fields["mark"] = f"{cell.queue['threshold_ms']}ms"
    return dumbbell(
        f"{cell.rate_mbps * FRAME:.6g}Mbps",
        f"{cell.rtt_ms:g}ms",
        _buffer(cell),
        flows=[_flow(group) for group in cell.groups],
        queue=_queue(cell),
        duration=bench.seconds(length),
        warmup=bench.seconds(warmup),
        sample="0s",
        **fields,
    )


def _buffer(cell: Cell) -> str:
    if "buffer_bytes" in cell.queue:
        return f"{round(cell.queue['buffer_bytes'] * FRAME)}B"
    return f"{cell.queue['buffer_packets']}p"


def _queue(cell: Cell) -> str:
    """Return the queue with the settings that the cell names."""
    queue, kind = QUEUES[cell.queue["kind"]], cell.queue["kind"]
    if kind not in ("codel", "fq-codel", "pie"):
        return queue
    target = cell.queue.get("target_ms", cell.queue.get("threshold_ms"))
    settings = {"target": target, "interval": cell.queue.get("interval_ms")}
    if kind == "pie":
        settings = {"target": target, "update": cell.queue.get("update_ms")}
    given = "".join(f":{name}={value}ms" for name, value in settings.items() if value)
    return f"{queue}{given}:ecn={str(bool(cell.queue.get('ecn', True))).lower()}"


def _flow(group: Group) -> dict[str, Any]:
    cc = LAWS[group.law]
    flow: dict[str, Any] = {"cc": cc, "count": group.count}
    if group.law == "prague" and group.fallback:
        flow["cc"] = "prague:classic_fallback=true"
    if group.law == "bbr3" and group.ecn:
        flow["cc"] = "bbr:ecn=true"
    if group.law in ("cubic", "reno") and group.ecn:
        flow["ecn"] = True
    if group.rtt_ms is not None:
        flow["rtt"] = f"{group.rtt_ms:g}ms"
    if group.rtt_spread_ms and group.count > 1:
        flow["rtt_spread"] = f"{group.rtt_spread_ms:g}ms"
    if group.start_s:
        flow["start"] = f"{group.start_s:g}s"
    return flow
