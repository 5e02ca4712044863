"""The playground as it is served; the page itself is tested in `web/test`."""

from __future__ import annotations

import base64
import signal
import subprocess
import zlib
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

import narrows as nw
from binary import BINARY
from narrows import playground
from narrows.playground import Playground, address

SCENARIO = nw.dumbbell("10Mbps", "40ms", "20p", cc="bbr", flows=3)


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page in place of the one that needs node to be built."""
    (tmp_path / "index.html").write_text("<title>narrows</title>")
    (tmp_path / "it.wasm").write_bytes(b"\0asm")
    monkeypatch.setattr(playground, "FOLDER", tmp_path)
    return tmp_path


def test_an_address_holds_the_file() -> None:
    packed = address(SCENARIO).removeprefix("#toml=")
    deflated = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
    text = zlib.decompress(deflated, -15).decode()
    assert nw.Scenario.from_toml(text) == SCENARIO


def test_it_is_served_to_this_machine(page: Path) -> None:
    served = Playground(SCENARIO)
    place, _, hash_ = served.url.partition("#")
    assert place.startswith("http://127.0.0.1:") and hash_.startswith("toml=")
    assert served.url in served._repr_html_()
    with urlopen(place) as answer:
        assert b"narrows" in answer.read()
    with urlopen(place + "it.wasm") as answer:
        assert answer.headers["content-type"] == "application/wasm"
    with pytest.raises(HTTPError):
        urlopen(place + "../conftest.py")
    served.close()


def test_a_build_without_a_page_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playground, "FOLDER", tmp_path)
    with pytest.raises(nw.Error, match="make playground"):
        nw.play()


@pytest.mark.skipif(not (playground.FOLDER / "index.html").exists(), reason="needs npm to build")
def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "scene.toml").write_text(SCENARIO.to_toml())
    with subprocess.Popen(
        [BINARY, "play", "--no-open", "scene.toml"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as served:  # fmt: skip
        assert served.stdout is not None
        url = served.stdout.readline().strip()
        assert url.endswith(address(SCENARIO))
        with urlopen(url.partition("#")[0]) as answer:
            assert b"bottleneck" in answer.read()
        served.send_signal(signal.SIGINT)
        assert served.wait(20) == 130
