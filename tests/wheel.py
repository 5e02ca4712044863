"""Installs dist's wheels into an environment outside the checkout, and runs what they promise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from urllib.request import urlopen

DIST = Path(__file__).parents[1] / "dist"
# Aims in seconds, of the best of five: a shared machine cannot be held to them.
IMPORT = 0.15
HELP = 0.35


def wheels() -> list[Path]:
    """Return the wheels of narrows and its papers."""
    found = sorted(DIST.glob("narrows*.whl"))
    if len(found) != 2:
        sys.exit(f"dist/ has {len(found)} wheels, not those of narrows and its papers: make wheel")
    return found


def best(command: list[str], folder: Path) -> float:
    """Return the shortest of five runs of a command, in seconds."""

    def took() -> float:
        begun = time.perf_counter()
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        return time.perf_counter() - begun

    return min(took() for _ in range(5))


def main() -> None:
    """Try it all; the first failure ends it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        python = folder / "env/bin/python"
        begun = time.perf_counter()
        subprocess.run([python, "-m", "pip", "install", "--quiet", *wheels()], check=True)
        print(f"installed in {time.perf_counter() - begun:.0f} s")
        run_all(folder, python)


def run_all(folder: Path, python: Path) -> None:
    """Run the commands, with nothing of the checkout or of a compiler on the path."""
    narrows = python.parent / "narrows"
    env = {"PATH": f"{python.parent}:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"}

    def run(*given: str, status: tuple[int, ...] = (0,)) -> str:
        begun = time.perf_counter()
        ran = subprocess.run(
            [narrows, *given], cwd=folder, env=env, capture_output=True, text=True, check=False
        )
        took = time.perf_counter() - begun
        print(f"{took:6.1f} s  narrows {' '.join(given)}", flush=True)
        if ran.returncode not in status:
            sys.exit(f"ended with {ran.returncode}, not {status}:\n{ran.stdout}{ran.stderr}")
        return ran.stdout

    run("--version")
    run("demo", "-o", "demo")
    assert (folder / "demo/report.html").stat().st_size > 10_000
    rows = run("compare", "--rate", "20Mbps", "--cc", "cubic,quinn:cubic,noq:bbr", "--json")
    assert len([json.loads(line) for line in rows.splitlines()]) >= 3, "stacks of others run"
    run("examples", "dumbbell", "--copy", "one")
    run("run", "one/dumbbell.toml", "-o", "run")
    run("again", "run")
    run("examples", "sweeps/buffer", "--copy", "two")
    run("sweep", "two/buffer.toml", "-o", "sweep", "--seeds", "1")
    run("reproduce", "etcp/fig07", "--scale", "0.05")
    run("conform", "--cc", "quinn:cubic", "--as", "cubic", "--only", "D1")
    run("score", "--cc", "cubic,quinn:cubic", "--quick", "rfc9743")
    if os.geteuid() == 0 and "kernel" in run("doctor", status=(0, 1)):
        real = ("--rate", "10Mbps", "--rtt", "20ms", "-t", "4")
        # 1 if this machine was too late to be believed.
        assert "etcp" in run("compare", "--real", "--cc", "etcp", *real, status=(0, 1))
        run("lab", "exec", "--rate", "10Mbps", "--", "true")
    else:
        print("left out: the lab, which needs root")
    send_and_receive(folder, narrows, env)
    play(folder, narrows, env)
    for what, aim, command in (
        ("import narrows", IMPORT, [str(python), "-c", "import narrows"]),
        ("narrows --help", HELP, [str(narrows), "--help"]),
    ):
        print(f"{best(command, folder) * 1000:.0f} ms for {what}; {aim * 1000:.0f} is the aim")


def send_and_receive(folder: Path, narrows: Path, env: dict[str, str]) -> None:
    """Send a file to this machine."""
    (folder / "file").write_bytes(os.urandom(3_000_000))
    receiver = subprocess.Popen(
        [narrows, "recv", "received", "--listen", "127.0.0.1:0", "--host", "127.0.0.1"],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert receiver.stdout is not None
    ticket = next(word for line in receiver.stdout for word in line.split() if len(word) > 40)
    subprocess.run(
        [narrows, "send", "file", ticket, "--cc", "etcp"], cwd=folder, env=env, check=True
    )
    receiver.wait(60)
    found = [path for path in (folder / "received").rglob("*") if path.is_file()]
    assert [path.read_bytes() for path in found] == [(folder / "file").read_bytes()]


def play(folder: Path, narrows: Path, env: dict[str, str]) -> None:
    """Serve the playground."""
    served = subprocess.Popen(
        [narrows, "play", "--no-open", "one/dumbbell.toml"],
        cwd=folder, env=env, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert served.stdout is not None
    url = served.stdout.readline().strip()
    with urlopen(url.partition("#")[0]) as page:
        assert b"narrows" in page.read()
    served.terminate()


if __name__ == "__main__":
    main()
