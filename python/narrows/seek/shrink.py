"""Shrinking: the fewest and roundest settings that still fail clearly.

After Hypothesis: fewer events first, then each number towards its usual value, by ever finer steps,
until nothing becomes simpler any more.
"""

from __future__ import annotations

from collections.abc import Iterator

from narrows.seek.served import eased
from narrows.seek.space import GENES, Settings, round_to
from narrows.seek.trial import Trial

SEEDS = [1, 2, 3, 4, 5]
# What is kept of the miss; less would walk to where the bound is just met.
KEPT = 0.8
ROUND = (1.0, 2.0, 5.0)
# After so many refusals nothing is tried any more.
STALL = 200


def shrink(trial: Trial, settings: Settings) -> Settings:
    """Return simpler settings under which what is expected is still missed clearly.

    Parameters
    ----------
    trial
        What is expected, and what varies.
    settings
        Under which it fails.

    Returns
    -------
    dict
        Of the same kind; what was given if nothing simpler fails.
    """
    first = trial.outcome(settings, SEEDS)
    if first is None:
        return settings
    least = KEPT * first.mean
    current, refused, is_done = settings, 0, False
    tried: set[str] = set()
    while not is_done:
        is_done = True
        for simpler in _simpler(trial, current):
            if repr(simpler) in tried:
                continue
            tried.add(repr(simpler))
            outcome = trial.outcome(simpler, SEEDS)
            if outcome is not None and outcome.fails() and outcome.mean >= least:
                current, is_done = simpler, False
                break
            refused += 1
            if refused >= STALL:
                return current
    return current


def _simpler(trial: Trial, settings: Settings) -> Iterator[Settings]:
    """Yield settings that are simpler, the simplest first."""
    events = settings["changes"]
    if len(events) > 1:
        yield {**settings, "changes": ()}
    for number in range(len(events)):
        yield {**settings, "changes": events[:number] + events[number + 1 :]}
    for service in eased(settings.get("served", ())):
        yield {**settings, "served": service}
    for gene in trial.space.genes:
        value = settings[gene.name]
        for simpler in _numbers(value, GENES[gene.name].usual):
            if gene.low <= simpler <= gene.high or simpler == gene.usual:
                yield {**settings, gene.name: simpler}
    for number, (at, kind, amount) in enumerate(events):
        for when in _numbers(at, 0.5 * trial.space.duration):
            yield _with_event(settings, number, (when, kind, amount))
        for simpler in _numbers(amount, amount):
            yield _with_event(settings, number, (at, kind, simpler))


def _with_event(settings: Settings, number: int, event: tuple[float, str, float]) -> Settings:
    events = list(settings["changes"])
    events[number] = event
    return {**settings, "changes": tuple(sorted(events))}


def _numbers(value: float, usual: float) -> Iterator[float]:
    """Yield simpler numbers than a value: the usual one, round ones beside it, fewer digits.

    Examples
    --------
    >>> list(_numbers(37.0, 10.0)), list(_numbers(50.0, 50.0))
    ([10.0, 50.0, 20.0, 40.0], [])
    """
    if value == usual:
        return
    yield usual
    is_round = _digits(value) == 1 and float(f"{value:.0e}"[0]) in ROUND
    if value == 0 or is_round:
        return
    near = _round_beside(value)
    yield from (it for it in near if it not in (value, usual))
    one = round_to(value, 1)
    if one != value and one not in near and one != usual:
        yield one


def _digits(value: float) -> int:
    return 1 if round_to(value, 1) == value else 2


def _round_beside(value: float) -> list[float]:
    """Return the numbers of the series 1, 2, 5 around a value, the nearer first."""
    power = 10.0 ** int(f"{value:e}".split("e")[1])
    series = [round_to(step * power, 1) for step in (*ROUND, 10.0)]
    above = min((it for it in series if it >= value), default=series[-1])
    below = max((it for it in series if it <= value), default=series[0])
    return sorted({above, below}, key=lambda it: (abs(it - value), -it))
