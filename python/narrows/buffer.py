"""How much buffer: the least and the greatest that meet targets, by runs around the answer.

Each target is a number of a run with a bound. In the logarithm x of the buffer, the logarithm y of
what misses (1 − utilisation, the loss, the delay) is close to a parabola. So five buffers around
the answer are run under the same three seeds, and the parabola through their means crosses the
bound at the answer. Of long runs and little noise one is enough beside the two that told between
which the answer lies: that where a straight line crosses. Further seeds go to a buffer at the
crossing: the others say how steep y is. How far each seed alone moves the crossing says how sure
that is, and seeds are added until it is sure to a tenth.

Where a run is long, two links that are a part of the asked one, with as many flows fewer, say
where to begin: windows and round trips are the same, so that the buffer depends on the size of the
link by a small power, 0 where it is small (Raina and Wischik) and 1/2 where it is BDP/√n.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import t as students

from narrows.advisor import FRESH, Advisor
from narrows.targets import Target
from narrows.types import Floats

# Buffers around the answer, by a factor from each to the next: more would bend the parabola where
# the number is steep.
STEP = 1.25
NEAR: Sequence[int] = (-2, 0, 2)
PLACES: Sequence[int] = (-2, -1, 0, 1, 2)
# Packets of a run that is so long that three buffers are tried first.
LONG_RUN = 4e6
# A slope of so many standard errors is one.
STEEP = 3.0
# A root so near to a buffer, in steps, is as good as there.
BESIDE = 0.3
# So far from the middle of five the root may be, in steps.
REACH = 1.5
# All are of one lattice, so that what was run to come near counts: steps of a first look, and ends
# between which the answer is near enough, and the step from a good guess; seeds of that look, each
# buffer's first, and those of one between two that have been looked at.
FAR, CLOSE, NEXT = 6, 4, 2
LOOK, FIRST, BETWEEN = [1, 2], 3, 4
# Inside, a little more is asked for, as looking again and again costs some of it.
INSIDE = 0.985
WITHIN = math.log(1.1)
# A crossing with a larger standard error is of a number so noisy that three buffers may bend the
# parabola the wrong way.
NOISY = 0.03
MOST_RUNS = 200
# The power of a link's size by which its buffer grows.
POWERS = (0.0, 0.5)
# So often the middle may move.
MOST_MOVES = 6
# So many steps of a fiftieth the safe end may move.
STEPS = 5
LEAST = 2
# Fewer losses than this say little of their share.
FEW_LOSSES = 100
# Seeds after which a bound that nothing crosses is not looked for any more.
ENOUGH = 9


@dataclass(frozen=True)
class Answer:
    """The buffer at which a target is just met.

    Attributes
    ----------
    target
        Which.
    packets
        The least buffer that meets it; of a number that grows with the buffer the greatest that
        does for sure, which is `low`. 0 if there is no smaller one to try, infinite if there is no
        larger one.
    low, high
        The ends of its interval.
    runs
        How many runs it took.
    seeds
        How many seeds a buffer had at the most.
    doubt
        Why it is not sure, for people; empty if it is.
    until
        The last buffer, from the answer on, before one that misses the target again; None if none
        that was tried does.
    """

    target: Target
    packets: float
    low: float
    high: float
    runs: int
    seeds: int
    doubt: str = ""
    until: float | None = None


@dataclass(frozen=True)
class Part:
    """A link that is a part of the asked one, with a part of its flows.

    Attributes
    ----------
    factor
        How many times larger the asked one is.
    advisor
        What asks runs of it.
    """

    factor: float
    advisor: Advisor


def answer(
    advisor: Advisor,
    target: Target,
    guess: float,
    parts: Sequence[Part] = (),
    is_near: bool = False,
) -> Answer:
    """Find the buffer at which a target is just met, with its interval.

    Parameters
    ----------
    advisor
        What asks runs.
    target
        One of its targets.
    guess
        Where to begin, in packets.
    parts
        Links that say better where to begin; the smallest first.
    is_near
        Whether the guess is so good that it is looked for right around it, and no part is asked.

    Returns
    -------
    Answer
        With what makes it doubtful, if something does. Runs of parts are not among its own.
    """
    before = advisor.runs
    told = None if is_near else _from_parts(parts, target, guess)
    if is_near:
        low, high = _bracket(advisor, target, _place(guess) - NEXT // 2, NEXT)
    elif told is None:
        low, high = _bracket(advisor, target, _place(guess), FAR)
    else:
        low, high = _bracket(advisor, target, _place(told) - CLOSE // 2, CLOSE)
    if high is None and not target.is_growing:
        # What rises with the buffer may have fallen again there, as BBR's utilisation does.
        low, high = _below(advisor, target)
    if low is None or high is None:
        packets = 0.0 if low is None else math.inf
        return Answer(target, packets, packets, packets, advisor.runs - before, len(LOOK))
    return _around(advisor, target, (low, high), before)


def _around(advisor: Advisor, target: Target, ends: tuple[int, int], before: int) -> Answer:
    """Return the answer between two places of the lattice; so many runs were made before it."""
    middle = sum(ends) // 2
    places, moves = (NEAR if advisor.packets >= LONG_RUN else PLACES), 0
    seeds = _first(advisor, middle, places)
    if places is NEAR and ends[0] < middle:
        seeds = _between_ends(advisor, target, ends)
    best: _Crossing | None = None
    apart = 0.0
    while advisor.runs - before < MOST_RUNS:
        _ask(advisor, seeds)
        found = _crossing(advisor, target, seeds)
        if found is not None:
            away = found.root / math.log(STEP) - middle
            reach = NEAR[-1] if places is NEAR else REACH
            # Beyond the buffers a parabola says little.
            if abs(away) > reach and found.root > math.log(LEAST) and moves < MOST_MOVES:
                # Of a noisy parabola it might go to and fro for ever.
                middle, moves = middle + min(max(round(away), -2), 2), moves + 1
                seeds = _first(advisor, middle, places)
                continue
            # Three buffers do not tell how wrong a parabola is between them: as if its slope might
            # be half or twice of what it says.
            apart = _away(advisor, seeds, found) if places is NEAR else 0.0
            best = replace(found, half=found.half + apart) if found.half < math.inf else best
            if apart > BESIDE * math.log(STEP) and found.half < math.inf:
                seeds[_whole(advisor, math.exp(found.root))] = len(LOOK)
                continue
            if found.half <= WITHIN - apart:
                break
        if places is NEAR and (found is None or found.error > NOISY):
            places = PLACES
            middle = middle if found is None else _place(math.exp(found.root))
            seeds = _first(advisor, middle, places) | seeds
        elif found is not None and found.half < math.inf:
            _add(advisor, seeds, found, WITHIN - apart)
        elif min(seeds.values()) >= ENOUGH:
            return _between(advisor, target, ends, ENOUGH, advisor.runs - before)
        else:
            seeds = {size: count + 2 for size, count in seeds.items()}
    return _told(advisor, target, best, seeds, advisor.runs - before)


def _first(advisor: Advisor, middle: int, places: Sequence[int]) -> dict[int, int]:
    """Return the buffers around a place, and how many seeds each has at first."""
    return dict.fromkeys(sorted({_size(advisor, middle + place) for place in places}), FIRST)


def _ask(advisor: Advisor, seeds: dict[int, int]) -> None:
    """Run each buffer under so many seeds, from 1 on."""
    for count in sorted(set(seeds.values())):
        sizes = [size for size, asked in seeds.items() if asked == count]
        advisor.ask(sizes, range(1, count + 1))


def _between_ends(advisor: Advisor, target: Target, ends: tuple[int, int]) -> dict[int, int]:
    """Return the seeds of two places that have been looked at, and of a buffer between them.

    That is where a straight line crosses the bound.
    """
    looked = dict.fromkeys((_size(advisor, place) for place in ends), len(LOOK))
    line = _crossing(advisor, target, looked)
    between = _whole(advisor, math.exp(line.root)) if line else 0
    if not min(looked) < between < max(looked):
        between = _size(advisor, sum(ends) // 2)
    return looked | {between: BETWEEN}


def _away(advisor: Advisor, seeds: dict[int, int], found: _Crossing) -> float:
    """Return how far in ln B from a crossing the nearest buffer is; 0 if it has run itself."""
    if _whole(advisor, math.exp(found.root)) in seeds:
        return 0.0
    return min(abs(math.log(size) - found.root) for size in seeds)


def _add(advisor: Advisor, seeds: dict[int, int], found: _Crossing, within: float) -> None:
    """Give seeds to the buffer that makes a crossing surest: the one there, or one that is steep.

    The others say how steep the number is, which three seeds mostly tell well enough. Half of its
    interval is to come `within` that.
    """
    size = _whole(advisor, math.exp(found.root))
    steps = {it: abs(math.log(it / size)) / math.log(STEP) for it in seeds}
    nearest = min(seeds, key=lambda it: steps[it])
    gains = dict(zip(seeds, found.shares**2, strict=True))
    worst = max(seeds, key=lambda it: gains[it] / (seeds[it] * (seeds[it] + 2)))
    if steps[worst] > 0.5:
        size = worst
    elif steps[nearest] < BESIDE:
        size = nearest
    total = sum(seeds.values())
    lacking = total * ((found.half / within) ** 2 - 1)
    # An even number, as machines have cores.
    seeds[size] = seeds.get(size, 0) + 2 * math.ceil(min(lacking, total / 3) / 2)


def _between(
    advisor: Advisor, target: Target, ends: tuple[int, int], seeds: int, runs: int
) -> Answer:
    """Return an answer of which only is known between which places it lies."""
    low, high = (float(_size(advisor, place)) for place in ends)
    doubt = f"it lies between {low:.0f} and {high:.0f} packets, where nothing crosses the bound"
    safe = low if target.is_growing else high
    return Answer(target, safe, low, high, runs, seeds, doubt)


def _place(packets: float) -> int:
    """Return the place of a buffer on the lattice."""
    return round(math.log(max(packets, LEAST)) / math.log(STEP))


def _size(advisor: Advisor, place: int) -> int:
    """Return the buffer at a place of the lattice, of which the largest is tried last."""
    return _whole(advisor, STEP**place)


def _whole(advisor: Advisor, packets: float) -> int:
    """Return the nearest buffer that is tried."""
    return max(LEAST, min(round(packets), math.floor(advisor.most)))


def _told(
    advisor: Advisor,
    target: Target,
    found: _Crossing | None,
    asked: dict[int, int],
    runs: int,
) -> Answer:
    seeds = max(asked.values())
    if found is None:
        return Answer(
            target, math.nan, math.nan, math.nan, runs, seeds, "the parabola does not cross it"
        )
    root, half = found.root, found.half
    ends = (root, root - half, root + half)
    packets, low, high = (min(math.exp(it), math.floor(advisor.most)) for it in ends)
    doubts = [] if half <= WITHIN else [f"not sure to a tenth after {runs} runs"]
    sure = _confirmed(advisor, target, low if target.is_growing else high)
    if sure is None:
        doubts.append("fresh seeds at the safe end do not confirm it")
    elif target.is_growing:
        # As a bound it is no larger than what is sure.
        low, packets = min(low, sure), min(packets, sure)
    else:
        high = max(high, sure)
    end = low if target.is_growing else high
    lost = advisor.bound(target) * advisor.packets * seeds
    if target.name == "loss_rate" and lost < FEW_LOSSES:
        doubts.append(f"it is of {lost:.0f} losses; give a longer --duration")
    again = _again(advisor, target, end)
    if again is None:
        return Answer(target, packets, low, high, runs, seeds, "; ".join(doubts))
    doubts.append(f"with {again} packets it is missed again")
    until = _until(advisor, target, end, again)
    return Answer(target, packets, low, high, runs, seeds, "; ".join(doubts), until)


def _until(advisor: Advisor, target: Target, end: float, again: int) -> float:
    """Return the last buffer from a safe end on that meets the target before one that misses it."""
    until, missed = _place(end), _place(again)
    while abs(missed - until) > CLOSE // 2:
        middle = (until + missed) // 2
        size = _size(advisor, middle)
        advisor.ask([size], LOOK)
        if _misses(advisor, target, size, LOOK):
            missed = middle
        else:
            until = middle
    last = float(_size(advisor, until))
    return min(end, last) if target.is_growing else max(end, last)


def _again(advisor: Advisor, target: Target, end: float) -> int | None:
    """Return the next buffer beyond the safe end that misses the target again, of those tried."""
    tried = [(size, advisor.seeds_of(size)) for size in advisor.asked()]
    if not target.is_growing:
        # What is said of all larger ones is tried of the largest, by a seed that no curve shows.
        most = math.floor(advisor.most)
        advisor.ask([most], FRESH[:1])
        tried.append((most, FRESH[:1]))
    for size, own in sorted(tried, key=lambda it: abs(it[0] - end)):
        if (size < end) != target.is_growing or size == end:
            continue
        if not _misses(advisor, target, size, own):
            continue
        advisor.ask([size], FRESH)
        if _misses(advisor, target, size, sorted({*own, *FRESH})):
            return size
    return None


def _misses(advisor: Advisor, target: Target, packets: int, seeds: Sequence[int]) -> bool:
    """Return whether the mean under seeds misses the target."""
    mean = float(np.mean(advisor.values(target, packets, seeds)))
    return target.miss(mean) > target.miss(advisor.bound(target))


def _confirmed(advisor: Advisor, target: Target, end: float) -> int | None:
    """Return the buffer at the safe end of the interval, or a little beyond, that meets the target.

    The mean of fresh seeds decides; None if up to a tenth beyond it does not.
    """
    first = max(LEAST, math.floor(end) if target.is_growing else math.ceil(end))
    for number in beyond(first, -1 if target.is_growing else 1):
        packets = max(LEAST, number)
        if packets > advisor.most:
            return None
        advisor.ask([packets], FRESH)
        if not _misses(advisor, target, packets, FRESH):
            return packets
    return None


def beyond(first: int, way: int) -> Iterator[int]:
    """Yield the whole numbers that fresh seeds are asked about: the end of an interval and beyond.

    Parameters
    ----------
    first
        The end.
    way
        1 if larger numbers are safer, −1 if smaller ones are.

    Yields
    ------
    int
        From the end on, a tenth beyond it at the most, or one.

    Examples
    --------
    >>> list(beyond(2, 1)), list(beyond(334, 1))
    ([2, 3], [334, 341, 348, 355, 362])
    """
    number = first
    for _ in range(min(STEPS, max(1, round(first * STEPS / 50)) + 1)):
        yield number
        number += way * max(1, round(number / 50))


def _from_parts(parts: Sequence[Part], target: Target, guess: float) -> float | None:
    """Return where parts of the link say that the answer is, in packets; None if they do not."""
    found: list[tuple[float, float]] = []
    for part in parts:
        low, high = _bracket(part.advisor, target, _place(guess), FAR)
        if low is None or high is None:
            return None
        ends = sorted({_size(part.advisor, low), _size(part.advisor, high)})
        asked = dict.fromkeys(ends, len(LOOK))
        crossing = _crossing(part.advisor, target, asked) if len(ends) > 1 else None
        guess = (
            math.exp(crossing.root) if crossing else float(_size(part.advisor, (low + high) // 2))
        )
        found.append((part.factor, guess))
    if not found:
        return None
    (first, of_first), (last, of_last) = found[0], found[-1]
    power = math.log(of_last / of_first) / math.log(first / last) if first != last else 0.0
    return of_last * math.pow(last, min(max(power, POWERS[0]), POWERS[1]))


def _bracket(
    advisor: Advisor, target: Target, begin: int, step: int
) -> tuple[int | None, int | None]:
    """Return two places of the lattice between which the target begins or ceases to be met.

    The first is None if it is met, or missed, from the smallest on, the second if up to the
    largest. The step from where it begins is of so many places, and further ones of `FAR`; they lie
    `CLOSE` apart at the end, or nearer.
    """

    def misses(place: int) -> bool:
        size = _size(advisor, place)
        advisor.ask([size], LOOK)
        # What grows with the buffer is missed above; what falls, below.
        return _misses(advisor, target, size, LOOK) != target.is_growing

    # The last place is that of the largest buffer itself.
    least, most = _place(LEAST), math.ceil(math.log(max(advisor.most, LEAST)) / math.log(STEP))
    here = min(max(begin, least), most)
    low: int | None = None
    high: int | None = None
    while low is None or high is None:
        if misses(here):
            low = here
            if here == most:
                return low, None
            here, step = min(here + step, most), FAR
        else:
            high = here
            if here == least:
                return None, high
            here, step = max(here - step, least), FAR
    while high - low > CLOSE:
        middle = (low + high) // 2
        low, high = (middle, high) if misses(middle) else (low, middle)
    return low, high


def _below(advisor: Advisor, target: Target) -> tuple[int | None, int | None]:
    """Return what `_bracket` does, if one of the smaller buffers meets the target.

    A run each says which; else up to the largest none does.
    """
    least, most = _place(LEAST), _place(advisor.most)
    for place in range(least, most, FAR // 2):
        size = _size(advisor, place)
        advisor.ask([size], LOOK[:1])
        if not _misses(advisor, target, size, LOOK[:1]):
            return _bracket(advisor, target, place, FAR // 2)
    return most, None


@dataclass(frozen=True)
class _Crossing:
    """Where a parabola crosses a bound: ln B, and what each buffer weighs."""

    root: float
    # Its standard error, and half of its interval.
    error: float
    half: float
    shares: Floats


def _crossing(advisor: Advisor, target: Target, seeds: dict[int, int]) -> _Crossing | None:
    """Return where the parabola through means of so many seeds crosses the bound.

    A seed is one draw for all buffers that it is given to. If the parabola does not cross it, the
    straight line says where it might, and nothing how sure that is; nor does anything if the slope
    is not told from 0.
    """
    x = np.log(np.array(list(seeds), dtype=np.float64))
    counts = np.array(list(seeds.values()))
    y = np.full((len(seeds), counts.max()), np.nan)
    for place, (size, count) in enumerate(seeds.items()):
        values = advisor.values(target, size, range(1, count + 1))
        y[place, :count] = [target.miss(it) for it in values]
    means = np.nanmean(y, axis=1)
    wanted = target.miss(advisor.bound(target))
    found = _root(x, means, counts, wanted)
    if found is None:
        line = _root(x, means, counts, wanted, 1)
        return line and _Crossing(line[0], math.inf, math.inf, line[1])
    root, shares = found
    error = _error(y, counts, shares)
    slopes = _fit(x, counts, 1)[0]
    if abs(slopes @ means) < STEEP * _error(y, counts, slopes):
        # Of what hardly moves with the buffer chance makes a slope.
        return _Crossing(root, error, math.inf, shares)
    parts = shares**2 / counts
    free = float(np.sum(parts * (counts - 1)) / np.sum(parts))
    half = float(students.ppf((1 + INSIDE) / 2, free)) * error
    return _Crossing(root, error, half, shares)


def _error(y: Floats, counts: Floats, shares: Floats) -> float:
    """Return the standard error of a sum of means, a row of values each, by such shares.

    By how far each seed alone moves it, as if it were one of as many as its buffer has.
    """
    by = (shares / np.sqrt(counts * (counts - 1.0)))[:, None]
    moved = np.nansum((y - np.nanmean(y, axis=1)[:, None]) * by, axis=0)
    return math.sqrt(float(np.sum(moved**2)))


def _fit(x: Floats, counts: Floats, degree: int) -> Floats:
    """Return what makes a polynomial's coefficients, the highest first, of means of so many."""
    powers = np.vander(x - x.mean(), min(len(x), degree + 1))
    fit: Floats = np.linalg.pinv(powers * np.sqrt(counts)[:, None]) * np.sqrt(counts)
    return fit


def _root(
    x: Floats, y: Floats, counts: Floats, wanted: float, degree: int = 2
) -> tuple[float, Floats] | None:
    """Return where the parabola through means of so many values crosses a value.

    The second is how far the root moves if each mean grows by one.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> root, shares = _root(x, 5 - x, np.ones(3), 3.5)
    >>> round(root, 6), [round(float(it), 6) for it in shares]
    (1.5, [0.375, 0.75, -0.125])
    """
    by = _fit(x, counts, degree)
    q, a, b = np.concatenate([np.zeros(3 - len(by)), by @ y])
    d = b - wanted
    inside = a * a - 4 * q * d
    if inside < 0 or a == 0:
        return None
    # Of the two roots the one that a straight line would have.
    away = float(-2 * d / (a + math.copysign(math.sqrt(inside), a)))
    steep = 2 * q * away + a
    if steep == 0:
        return None
    shares = np.vander(np.array([away]), len(by))[0] @ by
    return float(x.mean()) + away, -shares / steep
