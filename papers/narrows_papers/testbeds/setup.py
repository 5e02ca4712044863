"""A cell as a scenario: nothing here is chosen by what was measured.

Not modelled: tbf's burst (Gomez), buffers where nothing is said of sockets, and tcp_cwnd_validate
before Linux f4ce91ce12a7 (6.1, and stable branches of October 2022), which forgets that a window
was full; that moved shares by a point at most.
"""

from __future__ import annotations

from typing import Any, Literal

from narrows.networks import dumbbell
from narrows.scenario import Scenario
from narrows_papers.bench import Bench
from narrows_papers.testbeds.cell import Cell, Group
from narrows_papers.testbeds.hosts import HOSTS

# htb, tbf and bfifo count the 14 bytes of an Ethernet header; a packet here has 1500 bytes.
FRAME_BYTES = 1514
FRAME = 1500 / FRAME_BYTES
# htb lets a packet go as soon as its class owes nothing, and charges it then (sch_htb.c,
# htb_class_mode, htb_charge_class): it is on the faster wire when its turn begins, and no more in
# the leaf's queue. Here it reaches the other end when its turn is over, and counts in the queue
# till then. So RTTs are a packet's turn shorter than there, and queues a packet longer.
HTB = "htb rate"
# BBR's version 3 is `bbr` here.
LAWS = {
    "cubic": "cubic",
    "reno": "reno",
    "bbr1": "bbr1",
    "bbr2": "bbr2",
    "bbr3": "bbr",
    "prague": "prague",
}
# DualPI2 of L4STeam's kernels has a step where RFC 9332 has a ramp (sch_dualpi2.c, do_step_aqm), at
# 1 ms unless set, for packets that find two before them. NYU's fq_codel has ce_threshold 1 ms for
# ECT(1), its fq one of the cell's threshold, with one queue for all flows where `fifo-threshold` is
# said (orphan_mask 0).
QUEUES = {
    "fifo": "drop-tail",
    "fifo-threshold": "fq:queues=1",
    "codel": "codel",
    "fq-codel": "fq-codel",
    "fq-codel-l4s": "fq-codel:ce_threshold=1ms:ce_selector=ect1",
    "fq-threshold": "fq",
    "pie": "pie",
    "cnq_codel_af": "cnq-codel-af",
    "red-adaptive": "red:adaptive=true:p_max=0.02:mark_above=true",
    "dualpi2": "dualpi2:step=1ms:range=0s:min_qlen_step=2",
}
# Prague by its senders' kernel, as net/ipv4/tcp_prague.c has it: August 2020 (L4STeam/linux
# b256daed) without RTT control, as in what was before; autumn 2020 (JoakimMisund/net-next 03aa0451)
# with it after 500 rounds; then 5.15.72-56eae305c-prague-91 (L4STeam/linux 15b3b6c), NYU's (its
# l4s-testing.zip) and Greenscreen23's. The text of that one could not be had. Greenscreen23's
# linux.diff shows 24 bits of alpha and its noinline.diff a cwnd_mode; the three texts that have
# both (L4STeam/linux 893e1479, minuscat/l4steam-6.1.y 3bd10f98 and 2d280705) agree: RTT control
# after four rounds, single packets, no least window. None spares a loss that follows a mark.
PRAGUE_OF_ALL = "halves_once=false:alpha=1"
OLD_PRAGUE = f"{PRAGUE_OF_ALL}:least_window=2"
PRAGUE = {
    "5.4.0-rc3 (L4STeam/linux@b256daed, 2020-08-04)": f"{OLD_PRAGUE}:rtt_control=none",
    "5.4.0-rc31014c0e45f63-prague-1": f"{OLD_PRAGUE}:rtt_control=none",
    "5.4.0-rc3-prague (2020-11-17)": f"{OLD_PRAGUE}:rtt_transition=500",
}
NEW_PRAGUE = f"{PRAGUE_OF_ALL}:rtt_transition=4"
# The authors' ecn_enable, and their ecn_max_rtt_us = 0: on any path.
HEEDFUL_BBR2 = "bbr2:ecn=true:ecn_max_rtt=1000s"
# Receivers "will do classic marking" unless ecn_enable is set there, too
# (fatihsarpkaya/L4S-PAM2025, single_flow_experiments.ipynb); files of those where it was have this
# in their names. None is among the cells.
TELLS_OF_EACH = "dctcp_receiver"
# The fallback's reference queue as kernels before L4STeam/linux#38 took it: V0_LG and D0_LG of 20
# bits, read with 24, are 2^0.5969 and 2^0.6854 µs.
FALLBACK = "classic_fallback=true"
MISREAD_FALLBACK = f"{FALLBACK}:classic_variation=1.51us:classic_depth=1.61us"
MISREAD = ("V0_LG, D0_LG too small", "; Prague: L4STeam/linux")
# tcp_rmem's largest buffer, half of which is a window (tcp_adv_win_scale = 1, before Linux 6.6), in
# packets of 1448 bytes; the usual one is 6 MB.
DEFAULTS = "default"
BUFFERS = {"4096 1000000 200000000": 200_000_000, "64 MB": 67_108_864, DEFAULTS: 6_291_456}
# tcp_wmem's largest buffer by default (tcp_init, net/ipv4/tcp.c: 4 MB where memory is 0.5 GB and
# more). That of the other cells, 64 and 200 MB, is never full.
SEND_BUFFER = 4_194_304
# iperf3 writes ten times 128 kB when select says that it may (esnet/iperf 3.1 to 3.15, iperf_send),
# as distributions have it (3.7 in Ubuntu 20.04, 3.9 in 22.04). In 3.16, as in netperf, each write
# waits until it is done.
IPERF3, WAITING_IPERF3, WRITES = "iperf3", "iperf3 3.16", 1_310_720
# Offloads were left on: a burst is one packet for netem and tbf, up to its bucket (sch_tbf.c,
# tbf_enqueue), for the device it passes by (veth), and for the receiver, which acknowledges it as
# one.
WHOLE = "not turned off"
# Senders of these sets are begun by two remote sessions, one after the other, "sleep 1; iperf3"
# each (fatihsarpkaya/L4S-PAM2025, single_flow_experiments.ipynb). How far apart such sessions begin
# is seen in fatihsarpkaya/bottleneck-prediction of the same group, begun in the same way, whose
# files have stamps of two (data/time_main.csv, latest_topology_time_main.csv, 1554 runs): their
# difference has a deviation of 0.21 s, as that of two uniform draws from 0.52 s has. Flows of one
# session, which iperf3 begins together, have the usual 0.1 s.
SESSIONS, APART_S = ("nyu-l4s", "nyu-dominance"), 0.52
# One iperf3 -P n a group, which opens its n streams one after the other, a round trip each, before
# any of them sends (esnet/iperf 3.7 and 3.9, iperf_create_streams). So the larger group begins
# later, though cells say "together", as the tests do, and the later the longer the queue is that it
# opens through, which is not here.
ONE_BY_ONE = ("nyu-ware", "nyu-l4s", "nyu-dominance")
# Runs of three hours are shortened. Of these the first tenth is not measured: a start would weigh
# nine times as much as it does there.
LONGEST_S, START = 1200.0, 0.1
# What is run of a cell, in Mbit: 20 minutes of 1 Gbps.
MOST_MBIT = 1_200_000


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
    if kind not in QUEUES:
        return f"there is no queue {kind}"
    if cell.rate_mbps * min(cell.duration_s, LONGEST_S) > MOST_MBIT:
        return f"they would take more than {MOST_MBIT // 8000} GB each"
    return ""


def scenario(bench: Bench, cell: Cell, part: float = 0.5) -> Scenario:
    """Return the scenario of a cell.

    Parameters
    ----------
    bench
        Which scales durations.
    cell
        A cell that `why_not` has nothing against.
    part
        Where its RTTs lie among those that were published of its hosts, from 0 to 1.

    Returns
    -------
    Scenario
        A dumbbell of Linux's hosts.
    """
    length = min(cell.duration_s, LONGEST_S)
    warmup = cell.warmup_s * length / cell.duration_s
    if length < cell.duration_s:
        warmup = max(warmup, START * length)
    opened = opened_s(cell)
    whole: dict[str, Any] = {"super_packets": True} if WHOLE in cell.offloads else {}
    return dumbbell(
        f"{cell.rate_mbps * FRAME:.6g}Mbps",
        _rtt(cell, cell.rtt_ms, part),
        _buffer(cell),
        flows=[
            _flow(cell, group, part) | _times(bench, cell, group, begins)
            for group, begins in zip(cell.groups, opened, strict=True)
        ],
        queue=_queue(cell),
        duration=bench.seconds(length + max(opened)),
        warmup=bench.seconds(warmup),
        sample="0s",
        tcp=_habits(cell),
        **whole,
    )


def opened_s(cell: Cell) -> list[float]:
    """Return how many seconds after the first group each begins, as its streams are opened.

    Parameters
    ----------
    cell
        A cell.

    Returns
    -------
    list[float]
        Of its groups.

    Examples
    --------
    >>> from narrows_papers.testbeds.cell import cells
    >>> opened_s(cells("nyu-ware")["nyu-ware/figure2a/4xbbr1+1xcubic/10mbps/40ms/1bdp"])
    [0.12, 0.0]
    """
    least = min(group.count for group in cell.groups)
    apart = cell.rtt_ms / 1e3 if cell.lab in ONE_BY_ONE else 0.0
    return [(group.count - least) * apart for group in cell.groups]


def longer(cell: Cell) -> float:
    """Return by what factor a run is longer than a group's test, where all of that is measured.

    Then each group stops when its test is over, and what it had is of its own time. What waits in
    the buffer at a group's end is counted, as there; the time that it takes, up to 4 s, only there.

    Parameters
    ----------
    cell
        A cell.

    Returns
    -------
    float
        1 if groups begin together, or only a later part is measured.
    """
    return 1.0 if cell.warmup_s else 1 + max(opened_s(cell)) / cell.duration_s


def _habits(cell: Cell) -> Literal["linux5", "l4steam"]:
    # All kernels whose version is told are before 6.6, and the others are of 2023 and before.
    is_newer = "L4STeam/linux" in cell.kernel and cell.kernel not in PRAGUE
    return "l4steam" if is_newer else "linux5"


def _rtt(cell: Cell, told_ms: float, part: float) -> str:
    turn_ms = FRAME_BYTES * 8e-3 / cell.rate_mbps if HTB in cell.bottleneck else 0.0
    return f"{told_ms + HOSTS[cell.lab].beyond_ms(part) - turn_ms:.6g}ms"


def _buffer(cell: Cell) -> str:
    more = int(HTB in cell.bottleneck)
    if "buffer_bytes" in cell.queue:
        return f"{round((cell.queue['buffer_bytes'] + more * FRAME_BYTES) * FRAME)}B"
    return f"{cell.queue['buffer_packets'] + more}p"


def _queue(cell: Cell) -> str:
    """Return the queue with the settings that the cell names."""
    queue, kind = QUEUES[cell.queue["kind"]], cell.queue["kind"]
    threshold = cell.queue.get("threshold_ms")
    settings = {}
    if kind in ("codel", "fq-codel"):
        target = cell.queue.get("target_ms", threshold)
        settings = {"target": target, "interval": cell.queue.get("interval_ms")}
    elif kind == "pie":
        target = cell.queue.get("target_ms", threshold)
        settings = {"target": target, "update": cell.queue.get("update_ms")}
    elif kind == "dualpi2":
        settings = {"target": threshold}
    elif kind == "red-adaptive":
        queue = f"{queue}{_red(cell.queue['buffer_bytes'])}"
    elif kind in ("fq-threshold", "fifo-threshold"):
        settings = {"ce_threshold": threshold}
        queue = f"{queue}:flow_limit={cell.queue['buffer_packets']}"
    given = "".join(f":{name}={value}ms" for name, value in settings.items() if value)
    if kind in ("codel", "fq-codel", "pie"):
        given += f":ecn={str(bool(cell.queue.get('ecn', True))).lower()}"
    return f"{queue}{given}"


def _red(limit: int) -> str:
    # tc's defaults for a limit (q_red.c), and for avpkt 1000 (tc_red_eval_ewma), which Heist has
    # (heistp/l4s-tests, l4s.batch), and the L4S team's rerun of his tests is taken to have.
    most = limit / 4
    least = most / 3
    burst = (2 * least + most) // 3000
    wanted = burst + 1 - least / 1000
    weights = (2.0**-log for log in range(1, 32))
    weight = next(each for each in weights if wanted <= (1 - (1 - each) ** burst) / each)
    thresholds = f":min={least / FRAME_BYTES:.6g}:max={most / FRAME_BYTES:.6g}"
    return f"{thresholds}:weight={weight}:mean_packet=1000"


def _flow(cell: Cell, group: Group, part: float) -> dict[str, Any]:
    cc = LAWS[group.law]
    host = {"wait": HOSTS[cell.lab].wait}
    flow: dict[str, Any] = {"cc": cc, "count": group.count, "host": host}
    if group.law == "prague":
        flow["cc"] = f"prague:{PRAGUE.get(cell.kernel, NEW_PRAGUE)}{_fallback(cell, group)}"
    if group.law == "bbr3" and group.ecn:
        flow["cc"] = "bbr:ecn=true"
    if group.law == "bbr2" and group.ecn:
        flow["cc"] = f"{HEEDFUL_BBR2}{_echo(cell)}"
    if group.law in ("cubic", "reno") and group.ecn:
        flow["ecn"] = True
    if WHOLE in cell.offloads:
        flow["ack_every"] = "gro"
    for told, buffer in BUFFERS.items():
        if told in cell.sockets:
            flow["max_window"] = f"{buffer // 2 // 1448}p"
    if DEFAULTS in cell.sockets:
        flow["send_buffer"] = f"{SEND_BUFFER}B"
        if IPERF3 in cell.measured_by and WAITING_IPERF3 not in cell.measured_by:
            flow["write_size"] = f"{WRITES}B"
    if group.rtt_ms is not None:
        flow["rtt"] = _rtt(cell, group.rtt_ms, part)
    if group.rtt_spread_ms and group.count > 1:
        flow["rtt_spread"] = f"{group.rtt_spread_ms:g}ms"
    return flow


def _times(bench: Bench, cell: Cell, group: Group, opened: float) -> dict[str, str]:
    start = group.start_s or opened
    times = {"start": bench.seconds(start)} if start else {}
    if longer(cell) > 1:
        times["stop"] = bench.seconds(opened + cell.duration_s)
    if cell.lab in SESSIONS and group.count == 1:
        times["start_spread"] = f"{APART_S:g}s"
    return times


def _echo(cell: Cell) -> str:
    return "" if TELLS_OF_EACH in cell.file else ":echo=true"


def _fallback(cell: Cell, group: Group) -> str:
    if not group.fallback:
        return ""
    return f":{MISREAD_FALLBACK if any(told in cell.kernel for told in MISREAD) else FALLBACK}"
