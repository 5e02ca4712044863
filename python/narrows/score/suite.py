"""Suites of requirements: their files, and the scenarios that they make of a controller."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from narrows._core import ScenarioError
from narrows.errors import Error
from narrows.files import read_text
from narrows.scenario import LARGEST, Scenario
from narrows.sweeps.points import Point, Zipped, describe, points_of, scenario_at
from narrows.trace_files import fields_beside

# What stands for the controller in a file; other names that begin so stand for what a list says.
CC = "$cc"
FIELDS = {"requirement", "scenario", "product", "zipped", "quick"}
# Names that begin so are not part of what a point is called.
HIDDEN = "$_"
ABOUT = {"section", "word", "asks", "kind", "bounds"}
QUICK = {"product", "zipped", "scenario"}
# Where a bound is from: a document, another project's test, a derivation, a comparison with
# standard controllers in the same file, or nobody but us.
KINDS = {"L": "document", "T": "test", "D": "derived", "R": "relative", "J": "ours"}
WORDS = ("MUST", "SHOULD", "needs to", "ought", "should", "MAY", "")


@dataclass(frozen=True)
class Requirement:
    """A file of a suite.

    Attributes
    ----------
    path
        Where it is.
    section
        The document and its section, like ``RFC 9743 §5.1.3``.
    word
        How strongly that asks: one of its own words, like ``MUST``; empty if it does not.
    asks
        What it asks for.
    kind
        Where the bounds are from: ``L``, a document; ``T``, another project's test; ``D``, derived;
        ``R``, relative to standard controllers; ``J``, ours.
    bounds
        Which document, test or derivation that is.
    scenario
        The fields of the scenario, with ``$cc`` for the controller.
    zipped, product
        The lists of values of the grid.
    """

    path: Path
    section: str
    word: str
    asks: str
    kind: str
    bounds: str
    scenario: Mapping[str, Any]
    zipped: Sequence[Zipped]
    product: Mapping[str, Sequence[Any]]

    @property
    def name(self) -> str:
        """What it is called: the file's name without its ending."""
        return self.path.stem

    @classmethod
    def load(cls, path: Path, quick: bool = False) -> Requirement:
        """Read a file of a suite.

        Parameters
        ----------
        path
            A TOML file.
        quick
            Whether to take the few values of its ``[quick]``.

        Returns
        -------
        Requirement
            Whose scenarios are not checked yet.

        Raises
        ------
        Error
            If it cannot be read or lacks something. The message begins with its path.
        """
        try:
            given = tomllib.loads(read_text(path, LARGEST))
            return cls._of(given, path, quick)
        except (OSError, ValueError, Error) as error:
            raise Error(f"{path}: {error}") from None
        except (AttributeError, TypeError) as error:
            raise Error(f"{path}: a value is of another type than it should be: {error}") from None

    @classmethod
    def _of(cls, given: dict[str, Any], path: Path, quick: bool) -> Requirement:
        unknown = sorted(given.keys() - FIELDS)
        if unknown:
            raise Error(f'unknown field "{unknown[0]}"; known: {", ".join(sorted(FIELDS))}')
        about = given.get("requirement", {})
        for table, known in (("requirement", ABOUT), ("quick", QUICK)):
            if more := sorted(given.get(table, {}).keys() - known):
                raise Error(
                    f'{table}: unknown field "{more[0]}"; known: {", ".join(sorted(known))}'
                )
        texts = {name: about.get(name) for name in ("section", "word", "asks", "kind", "bounds")}
        for name, text in texts.items():
            if not isinstance(text, str):
                raise Error(f'requirement.{name}: it is missing; write {name} = "…"')
        if texts["kind"] not in KINDS:
            raise Error(f"requirement.kind: {texts['kind']!r} is none of {', '.join(KINDS)}")
        if texts["word"] not in WORDS:
            raise Error(f"requirement.word: {texts['word']!r} is none of {', '.join(WORDS)}")
        scenario = dict(given.get("scenario", {}))
        if CC not in _texts(scenario):
            raise Error(f'scenario: no flow has cc = "{CC}", which stands for the controller')
        product, zipped = dict(given.get("product", {})), list(given.get("zipped", []))
        if quick:
            fewer = given.get("quick", {})
            product |= fewer.get("product", {})
            zipped = fewer.get("zipped", zipped)
            scenario |= fewer.get("scenario", {})
            scenario["seeds"] = dict(scenario.get("seeds", {})) | {"count": 1}
        groups = [Zipped(**group) for group in zipped]
        names = {name for group in zipped for name in group} | product.keys()
        texts_of_it = " ".join(_texts([scenario, product, zipped]))
        # Others may be there for what a point is called.
        for name in sorted(it for it in names if it.startswith(HIDDEN)):
            if not re.search(rf"{re.escape(name)}\b", texts_of_it):
                raise Error(f"{name}: nothing in the scenario says it; leave it out")
        for name in sorted(set(re.findall(r"\$\w+", texts_of_it)) - names - {CC}):
            raise Error(f"{name}: no list says what it stands for; add one to [product]")
        return cls(path, **texts, scenario=scenario, zipped=groups, product=product)

    def points(self) -> list[Point]:
        """Return the points of the grid.

        Returns
        -------
        list of dict
            Values by name; a single empty one if there is no grid.
        """
        return points_of(self.zipped, self.product)

    def scenario_of(self, cc: Any, point: Point) -> Scenario:
        """Return the scenario of a point for a controller.

        Parameters
        ----------
        cc
            What a flow's ``cc`` may be.
        point
            One of `points`.

        Returns
        -------
        Scenario
            Checked.

        Raises
        ------
        ScenarioError
            If it cannot be run with that controller.
        """
        said = {CC: cc} | {name: value for name, value in point.items() if name[0] == CC[0]}
        rest = {name: value for name, value in point.items() if name not in said}
        try:
            fields = fields_beside(_with(self.scenario, said), self.path.parent)
            return scenario_at(Scenario(**fields), _with(rest, said))
        except ScenarioError as error:
            raise ScenarioError(f"{self.path}: {error}") from None

    def title(self, point: Point) -> str:
        """Return what a point is called.

        Parameters
        ----------
        point
            One of `points`.

        Returns
        -------
        str
            Like ``buffer=20p flows=4``; empty if there is no grid.

        Examples
        --------
        >>> requirement = Requirement.load(suites()["rfc9743"] / "5.1.4-two.toml")
        >>> requirement.title({"buffer": "20p", "$load": 0.3, "$_least": "0.9"})
        'buffer=20p load=0.3'
        """
        told = {
            name.lstrip(CC[0]): value
            for name, value in point.items()
            if not name.startswith(HIDDEN)
        }
        return describe(told) if told else ""


def _with(value: Any, said: Mapping[str, Any]) -> Any:
    """Return fields with what is said in place of the names that stand for it."""
    if isinstance(value, Mapping):
        return {name: _with(part, said) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with(part, said) for part in value]
    if not isinstance(value, str) or CC[0] not in value:
        return value
    if value in said:
        return said[value]
    return re.sub(r"\$\w+", lambda match: str(said.get(match[0], match[0])), value)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, str):
        yield value


def suites() -> dict[str, Path]:
    """Return the suites that come with narrows.

    Returns
    -------
    dict
        The folder of each, by name.

    Examples
    --------
    >>> "rfc9743" in suites()
    True
    """
    with resources.as_file(resources.files("narrows") / "suites") as home:
        return {folder.name: folder for folder in sorted(home.iterdir()) if _is_suite(folder)}


def _is_suite(folder: Path) -> bool:
    """Return whether a folder has requirements; reference traces are scenarios."""
    first = next(iter(sorted(folder.glob("*.toml"))), None)
    return first is not None and "[requirement]" in read_text(first, LARGEST)


def load(paths: Sequence[str], quick: bool = False) -> list[Requirement]:
    """Read requirements from suites by name, folders and files.

    Parameters
    ----------
    paths
        Names of suites that come with narrows, folders, or files.
    quick
        Whether to take the few values of each file's ``[quick]``.

    Returns
    -------
    list of Requirement
        In the order of `paths`, those of a folder by name.

    Raises
    ------
    Error
        If one cannot be read, or a folder has none.
    """
    known = suites()
    files: dict[Path, None] = {}
    for path in paths:
        place = Path(path)
        if not place.exists():
            if path not in known:
                raise Error(f"{path}: no such file, folder or suite; suites: {', '.join(known)}")
            place = known[path]
        found = sorted(place.glob("*.toml"), key=_order) if place.is_dir() else [place]
        if not found:
            raise Error(f"{path}: there is no file of a suite in this folder")
        files |= dict.fromkeys(found)
    return [Requirement.load(file, quick) for file in files]


def _order(file: Path) -> list[tuple[int, str]]:
    """Sort sections by their numbers, so that 5.10 comes behind 5.9."""
    parts = file.stem.replace("-", ".").split(".")
    return [(int(part), "") if part.isdigit() else (10**9, part) for part in parts]
