"""The playground: a bottleneck to play with, in a browser, served from this machine."""

from __future__ import annotations

import base64
import threading
import zlib
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from narrows import _core
from narrows.errors import Error
from narrows.law_files import is_file
from narrows.scenario import Scenario
from narrows.trace_files import named

__all__ = ["Playground", "address", "play"]

FOLDER = Path(__file__).parent / "page"


def address(scenario: Scenario, title: str = "") -> str:
    """Return the part of a playground's address after which a scenario is there.

    It is ``#toml=``, and the text of the TOML file, deflated, in base64url: what the page's *Copy
    link* gives. Its first comment is the page's title.

    Examples
    --------
    >>> import narrows as nw
    >>> address(nw.dumbbell("10Mbps", "40ms", "20p"))[:6]
    '#toml='
    """
    _refuse(scenario)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    text = (f"# {title}\n" if title else "") + scenario.to_toml()
    packed = packer.compress(text.encode()) + packer.flush()
    return "#toml=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _refuse(scenario: Scenario) -> None:
    for place, file in named(scenario.core).items():
        raise Error(f"play: {place}: a browser cannot read {file}; name what needs no file")
    stacks = {name for name, *_ in _core.stacks()}
    for number, cc in enumerate(scenario.core.laws):
        if cc in scenario.controllers or is_file(cc) or cc.partition(":")[0] in stacks:
            raise Error(f"play: flows[{number}].cc: a browser has no {cc}; name a law of narrows")


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing of it."""

    # As browsers ask for a module; what a system thinks of these endings differs.
    extensions_map = SimpleHTTPRequestHandler.extensions_map | {
        ".wasm": "application/wasm",
        ".js": "text/javascript",
    }

    def log_message(self, format: str, *args: object) -> None:
        """Keep it to itself."""


class Playground:
    """A playground that is served until it is closed, or the program ends.

    Attributes
    ----------
    url
        Where it is; only this machine can open it.
    """

    def __init__(self, scenario: Scenario | None = None, port: int = 0) -> None:
        if not (FOLDER / "index.html").exists():
            raise Error(
                "play: this build of narrows has no playground; wheels have it, and in a checkout "
                "make playground builds it"
            )
        handler = partial(_Quiet, directory=str(FOLDER))
        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        except OSError as error:
            raise Error(f"--port: {port}: {error.strerror}; leave it out for a free one") from None
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        place = f"http://127.0.0.1:{self._server.server_port}/"
        self.url = place + (address(scenario) if scenario is not None else "")

    def close(self) -> None:
        """Serve it no longer."""
        self._server.shutdown()
        self._server.server_close()

    def wait(self) -> None:
        """Wait until it is closed."""
        self._thread.join()

    def __repr__(self) -> str:
        return f"Playground({self.url})"

    def _repr_html_(self) -> str:
        return (
            f'<iframe src="{self.url}" title="narrows" width="100%" height="900" '
            'style="border: 0"></iframe>'
        )


def play(scenario: Scenario | None = None) -> Playground:
    """Serve the playground with a scenario; a notebook on this machine shows it.

    What is done there (a buffer moved, flows that join) is in the page's *As TOML*: a scenario that
    makes the same run, packet by packet.

    Parameters
    ----------
    scenario
        What it begins with; the page's first scene if None. Its laws are of narrows' own.

    Examples
    --------
    >>> import narrows as nw
    >>> playground = nw.play(nw.dumbbell("10Mbps", "40ms", "20p"))  # doctest: +SKIP
    >>> playground.url  # doctest: +SKIP
    'http://127.0.0.1:40017/#toml=…'
    """
    return Playground(scenario)
