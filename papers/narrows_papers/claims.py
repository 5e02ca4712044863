"""A paper's claims, what the data show, and the verdicts, which are computed and never typed."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from narrows.statistics import mean_and_interval


@dataclass(frozen=True)
class Claim:
    """One claim of a paper.

    Parameters
    ----------
    text
        What is claimed, as a sentence that needs no code beside it.
    paper
        The paper's value as it is shown; "not given" with the derivation in brackets if the number
        is ours.
    found
        Our value as it is shown.
    holds
        Whether our value is as claimed; None if the runs do not decide it.
    why
        The reason for a difference, or why nothing is decided; shown only then.
    is_measurement
        Whether it is a measurement beside the paper's words, which nothing judges.
    """

    text: str
    paper: str
    found: str
    holds: bool | None
    why: str = ""
    is_measurement: bool = False

    def __post_init__(self) -> None:
        """Decide nothing from what was not measured."""
        if _NOT_MEASURED.search(self.found):
            object.__setattr__(self, "holds", None)
            object.__setattr__(self, "why", "what it is judged by was not measured in these runs")

    def undecided(self, why: str) -> Claim:
        """Return the same claim without a verdict, and why it has none.

        Parameters
        ----------
        why
            Why nothing is decided.

        Returns
        -------
        Claim
            Another one.
        """
        return replace(self, holds=None, why=why)

    @property
    def verdict(self) -> str:
        """Return ``holds``, ``differs``, ``not decided`` or ``measured``."""
        return MEASURED if self.is_measurement else VERDICTS[self.holds]

    def record(self) -> dict[str, Any]:
        """Return the claim and its verdict as a dictionary for a JSON file.

        Returns
        -------
        dict
            By name.
        """
        kept = asdict(self)
        del kept["is_measurement"]
        return kept | {"verdict": self.verdict}


# A number that is none, as Python writes it.
_NOT_MEASURED = re.compile(r"(?<![A-Za-z])(nan|inf|not measured)(?![A-Za-z])")
VERDICTS = {True: "holds", False: "differs", None: "not decided"}
MEASURED = "measured"


def near(
    text: str,
    paper: float,
    found: float,
    within: float,
    unit: str = "",
    why: str = "",
    *,
    since: str,
    by: str = "",
) -> Claim:
    """Claim that a number is close to the paper's.

    Parameters
    ----------
    text, why
        As in `Claim`.
    paper, found
        The numbers.
    within
        How far `found` may be from `paper`, as a share of `paper`.
    unit
        Unit, shown after both numbers.
    since
        Why the tolerance is what it is, such as ``the paper says "about"``.
    by
        If the number is not in the paper: the equation or the argument that gives it.

    Returns
    -------
    Claim
        With its verdict.

    Examples
    --------
    >>> near("loss", 0.0102, 0.0101, within=0.02, since="three digits").text
    'loss (within 2 %: three digits)'
    """
    # A printed number keeps its digits; a computed one has four.
    printed = f"{paper:,.6g} {unit}".rstrip()
    number = shown(paper, unit) if by else printed
    return Claim(
        f"{text} (within {100 * within:.2g} %: {since})",
        f"not given ({number} by {by})" if by else number,
        shown(found, unit),
        bool(abs(found - paper) <= within * abs(paper)),
        why,
    )


def digits(text: str, paper: str, found: float, unit: str = "", why: str = "") -> Claim:
    """Claim that a number rounds to the paper's digits: within half a unit of the last one.

    Parameters
    ----------
    text, unit, why
        As in `near`.
    paper
        The number as the paper prints it, such as ``"0.18"`` or ``"1.12e-3"``.
    found
        Our number.

    Returns
    -------
    Claim
        With its verdict.

    Examples
    --------
    >>> digits("gain", "0.18", 0.1751).verdict, digits("loss", "1.12e-3", 1.13e-3).verdict
    ('holds', 'differs')
    """
    half = half_a_digit(paper)
    return Claim(
        f"{text} (within half a unit of the paper's last digit)",
        f"{paper} {unit}".rstrip(),
        shown(found, unit),
        bool(abs(found - float(paper)) <= half * (1 + 1e-9)),
        why,
    )


def half_a_digit(number: str) -> float:
    """Return half a unit of a printed number's last digit.

    Parameters
    ----------
    number
        As it is printed, like ``1.12e-3``.

    Returns
    -------
    float
        Above 0.

    Examples
    --------
    >>> half_a_digit("0.18"), half_a_digit("1.12e-3"), half_a_digit("480")
    (0.005, 5e-06, 0.5)
    """
    mantissa, _, exponent = number.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(f"5e{int(exponent or 0) - decimals - 1}")


def above(text: str, bound: float, found: float, unit: str = "", why: str = "") -> Claim:
    """Claim that a number is above the paper's bound; a bound of ours is a `readings.Reading`.

    Parameters
    ----------
    text, unit, why
        As in `near`.
    bound, found
        The numbers.

    Returns
    -------
    Claim
        With its verdict.

    Examples
    --------
    >>> above("utilisation", 0.9, 0.88).verdict
    'differs'
    """
    return Claim(text, f"> {shown(bound, unit)}", shown(found, unit), bool(found > bound), why)


def below(text: str, bound: float, found: float, unit: str = "", why: str = "") -> Claim:
    """Claim that a number is below the paper's bound; see `above`.

    Parameters
    ----------
    text, unit, why
        As in `near`.
    bound, found
        The numbers.

    Returns
    -------
    Claim
        With its verdict.
    """
    return Claim(text, f"< {shown(bound, unit)}", shown(found, unit), bool(found < bound), why)


def falling(text: str, names: Sequence[str], values: Sequence[float], why: str = "") -> Claim:
    """Claim an order: the first name has the highest value.

    For values that do not depend on a seed; `ranked` judges those that do.

    Parameters
    ----------
    text, why
        As in `Claim`.
    names
        What is compared, in the paper's order.
    values
        One for each name.

    Returns
    -------
    Claim
        With its verdict.

    Examples
    --------
    >>> falling("utilisation", ["etcp", "highspeed", "newreno"], [0.88, 0.6, 0.4]).found
    'etcp 0.88 > highspeed 0.6 > newreno 0.4'
    """
    order = sorted(zip(names, values, strict=True), key=lambda pair: -pair[1])
    found = " > ".join(f"{name} {shown(value, '')}" for name, value in order)
    return Claim(text, " > ".join(names), found, [name for name, _ in order] == list(names), why)


def ranked(
    text: str, names: Sequence[str], samples: Sequence[Sequence[float]], why: str = ""
) -> Claim:
    """Claim an order of values that depend on the seed: the first name has the highest.

    The order holds if each value is above the next with 95 % confidence (Welch's t test of the
    seeds' means), differs if one is below the next with the same confidence, and otherwise is not
    decided.

    Parameters
    ----------
    text, why
        As in `Claim`.
    names
        What is compared, in the paper's order.
    samples
        The values over the seeds, one sequence for each name, of at least two each.

    Returns
    -------
    Claim
        With its verdict.

    Examples
    --------
    >>> ranked("a > b", ["a", "b"], [[3.0, 3.1], [1.0, 1.1]]).verdict
    'holds'
    >>> ranked("a > b", ["a", "b"], [[1.0, 1.2], [0.9, 1.2]]).verdict
    'not decided'
    """
    found = ", ".join(
        f"{name} {interval(values)}" for name, values in zip(names, samples, strict=True)
    )
    signs = [_compare(high, low) for high, low in pairwise(samples)]
    holds = False if -1 in signs else (None if 0 in signs else True)
    return Claim(text, " > ".join(names), found, holds, why)


def ours(claim: Claim) -> Claim:
    """Mark a claim that the paper does not make.

    Parameters
    ----------
    claim
        A claim of an order or a bound.

    Returns
    -------
    Claim
        Another one, whose paper column says ``not given``.

    Examples
    --------
    >>> ours(ranked("a > b", ["a", "b"], [[3.0, 3.1], [1.0, 1.1]])).paper
    'not given (a > b)'
    """
    return replace(claim, paper=f"not given ({claim.paper})")


def interval(values: Sequence[float], unit: str = "") -> str:
    """Return mean and half-width of the 95 % confidence interval of values over seeds.

    Parameters
    ----------
    values
        One for each seed.
    unit
        Unit, shown at the end.

    Returns
    -------
    str
        For a table.

    Examples
    --------
    >>> interval([1.0, 1.1, 1.2])
    '1.1 ± 0.25'
    """
    if len(values) < 2:
        return shown(values[0], unit)
    if not all(map(math.isfinite, values)):
        return shown(float(np.sum(values)), unit)
    mean, half = mean_and_interval(values)
    return f"{mean:.4g} ± {half:.2g}" + (f" {unit}" if unit else "")


def one_of(text: str, paper: str, found: Sequence[float], unit: str = "", why: str = "") -> Claim:
    """Claim that the paper's number could be one more of our runs.

    It is if it lies within the 95 % prediction interval of our seeds, or rounds to it.

    Parameters
    ----------
    text, unit, why
        As in `near`.
    paper
        The number as the paper prints it.
    found
        Ours, one for each seed.

    Returns
    -------
    Claim
        With its verdict.

    Examples
    --------
    >>> one_of("index", "0.75", [0.70, 0.72, 0.71]).verdict
    'holds'
    >>> one_of("index", "0.78", [0.70, 0.72, 0.71]).verdict
    'differs'
    """
    value, half = float(paper), half_a_digit(paper)
    count = len(found)
    mean = sum(found) / count
    if count > 1:
        from scipy.stats import t  # noqa: PLC0415 (a third of a second, seldom needed)

        variance = sum((value - mean) ** 2 for value in found) / (count - 1)
        half += float(t.ppf(0.975, count - 1)) * math.sqrt(variance * (1 + 1 / count))
    printed = f"{value:,.0f}" if value >= 1e4 else paper
    return stated(
        f"{text} (one more run lies within ± {half:.2g} of our mean, with 95 % confidence)",
        f"{printed} {unit}".rstrip(),
        interval(found, unit),
        abs(value - mean) <= half,
        why,
    )


def rounds_to(
    text: str, paper: str, found: Sequence[float], unit: str = "", why: str = ""
) -> Claim:
    """Claim that a mean rounds to the paper's digits.

    It does if the whole 95 % confidence interval of the seeds' mean rounds to them, differs if none
    of it does, and is otherwise not decided.

    Parameters
    ----------
    text, unit, why
        As in `near`.
    paper
        The number as the paper prints it.
    found
        Ours, one for each seed, of two at least.

    Returns
    -------
    Claim
        With its verdict.

    Examples
    --------
    >>> rounds_to("gain", "8", [7.9, 8.0, 8.1]).verdict, rounds_to("gain", "8", [7, 8]).verdict
    ('holds', 'not decided')
    """
    mean, half = mean_and_interval(found)
    return Claim(
        f"{text} (within half a unit of the paper's last digit, with 95 % confidence)",
        f"{paper} {unit}".rstrip(),
        interval(found, unit),
        _is_below(half_a_digit(paper), abs(mean - float(paper)), half),
        why,
    )


def mean_below(bound: float, found: Sequence[float]) -> bool | None:
    """Return whether the seeds' mean is below a bound; None if its interval has the bound in it.

    Parameters
    ----------
    bound
        The bound.
    found
        One for each seed.

    Returns
    -------
    bool or None
        By the 95 % confidence interval.

    Examples
    --------
    >>> mean_below(0.5, [0.3, 0.31]), mean_below(0.5, [0.4, 0.6])
    (True, None)
    """
    return _is_below(bound, *mean_and_interval(found)) if len(found) > 1 else None


def _is_below(bound: float, value: float, half: float) -> bool | None:
    """Return whether all between `value` ± `half` is below a bound; None if a part of it is."""
    return True if value + half < bound else False if value - half > bound else None


def _compare(high: Sequence[float], low: Sequence[float]) -> int:
    """Return 1 if the first values are higher, -1 if lower, 0 if it is not decided."""
    if len(high) < 2 or len(low) < 2 or not all(map(math.isfinite, (*high, *low))):
        return 0
    parts = [float(np.var(values, ddof=1)) / len(values) for values in (high, low)]
    difference = float(np.mean(high) - np.mean(low))
    if sum(parts) == 0:
        return int(np.sign(difference))
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(values) - 1) for part, values in zip(parts, (high, low), strict=True)
    )
    from scipy.stats import t  # noqa: PLC0415 (a third of a second, needed for several seeds only)

    if abs(difference) <= float(t.ppf(0.975, freedom)) * math.sqrt(sum(parts)):
        return 0
    return int(np.sign(difference))


# A difference that would be one.
TENTH = 0.1


def alike(text: str, groups: Sequence[Sequence[float]], unit: str = "", why: str = "") -> Claim:
    """Claim that groups of values have one mean: that they differ no more than their values do.

    It differs if an analysis of variance finds the means different with 95 % confidence, and is not
    decided if two of them could differ by a tenth and nobody would see it.

    Parameters
    ----------
    text, unit, why
        As in `near`.
    groups
        The values of each group, of two each at least.

    Returns
    -------
    Claim
        With its verdict.

    Examples
    --------
    >>> alike("windows", [[9.9, 10.1, 10.0], [10.0, 9.9, 10.1]]).verdict
    'holds'
    >>> alike("windows", [[8.0, 12.0, 10.0], [10.0, 7.5, 12.5]]).verdict
    'not decided'
    >>> alike("windows", [[9.0, 9.1, 9.2], [19.0, 19.1, 19.2]]).found
    '9.1, 19.1: farther apart than chance (F test)'
    """
    from scipy.stats import f_oneway, t  # noqa: PLC0415 (most claims do without)

    chance = float(f_oneway(*groups).pvalue)
    count, least = sum(map(len, groups)), min(map(len, groups))
    deviation = math.sqrt(float(np.mean([np.var(group, ddof=1) for group in groups])))
    unseen = float(t.ppf(0.975, count - len(groups))) * deviation * math.sqrt(2 / least)
    is_seen = unseen <= TENTH * abs(float(np.mean(np.concatenate(groups))))
    holds = False if chance < 0.05 else (True if is_seen else None)
    means = ", ".join(shown(float(np.mean(group)), "") for group in groups) + f" {unit}".rstrip()
    told = "no farther apart than chance" if chance >= 0.05 else "farther apart than chance"
    return Claim(text, "the same", f"{means}: {told} (F test)", holds, why)


def stated(text: str, paper: str, found: str, holds: bool | None, why: str = "") -> Claim:
    """Claim something that is not a number, such as a shape.

    The caller computes `holds` from the data; None means that they do not decide it.

    Parameters
    ----------
    text, paper, found, holds, why
        As in `Claim`.

    Returns
    -------
    Claim
        With its verdict.
    """
    return Claim(text, paper, found, None if holds is None else bool(holds), why)


def measured(text: str, paper: str, found: str, why: str = "") -> Claim:
    """Set a measurement beside the paper's words, for which no bound has a reason before the run.

    Parameters
    ----------
    text, paper, found
        As in `Claim`.
    why
        What explains the number.

    Returns
    -------
    Claim
        Whose verdict is ``measured``.

    Examples
    --------
    >>> measured("Telnet delay over the idle network's", "merely propagation", "2.2").verdict
    'measured'
    """
    return Claim(text, paper, found, None, why, is_measurement=True)


def shown(value: float, unit: str) -> str:
    """Return a number as tables show it, with its unit.

    Parameters
    ----------
    value
        The number; NaN is "not measured".
    unit
        Its unit, or nothing.

    Returns
    -------
    str
        With four digits, or all before the point.
    """
    if math.isnan(value):
        return "not measured"
    text = f"{value:,.0f}" if 1e4 <= abs(value) < 1e12 else f"{value:.4g}"
    return text + (f" {unit}" if unit else "")
