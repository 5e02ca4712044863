"""The doors of a process that runs what nobody trusts: each is closed by the kernel, for good.

Linux only: resource limits, namespaces, Landlock and a seccomp filter, by raw system calls.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import signal
import struct
import sys

# Seconds of a processor, bytes of memory, open files.
MEMORY = 1 << 30
FILES = 16

_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_CLONE_NEWUSER, _CLONE_NEWNET, _CLONE_NEWIPC, _CLONE_NEWNS = (
    0x10000000,
    0x40000000,
    0x08000000,
    0x00020000,
)
_LANDLOCK_CREATE_RULESET, _LANDLOCK_RESTRICT_SELF = 444, 446
_LANDLOCK_VERSION = 1
# What Landlock can forbid of files, from its first version on; later versions add bits.
_LANDLOCK_FS = (13, 14, 15, 15, 16)
_LANDLOCK_NET_FROM = 4

# What a law may ask of the kernel: memory, time, its pipe, its own end.
_ALLOWED = {
    "x86_64": (
        0xC000003E,
        {
            "read": 0,
            "write": 1,
            "close": 3,
            "fstat": 5,
            "lseek": 8,
            "mmap": 9,
            "mprotect": 10,
            "munmap": 11,
            "brk": 12,
            "rt_sigaction": 13,
            "rt_sigprocmask": 14,
            "rt_sigreturn": 15,
            "mremap": 25,
            "sched_yield": 24,
            "madvise": 28,
            "exit": 60,
            "futex": 202,
            "clock_gettime": 228,
            "exit_group": 231,
            "getrandom": 318,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "read": 63,
            "write": 64,
            "close": 57,
            "fstat": 80,
            "lseek": 62,
            "mmap": 222,
            "mprotect": 226,
            "munmap": 215,
            "brk": 214,
            "rt_sigaction": 134,
            "rt_sigprocmask": 135,
            "rt_sigreturn": 139,
            "mremap": 216,
            "sched_yield": 124,
            "madvise": 233,
            "exit": 93,
            "futex": 98,
            "clock_gettime": 113,
            "exit_group": 94,
            "getrandom": 278,
        },
    ),
}
_X32 = 0x40000000
# Clocks that are everybody's, and this process's own.
_CLOCKS = 16

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
if _libc is not None:
    _libc.prctl.argtypes = (ctypes.c_int, *(ctypes.c_ulong,) * 4)


def _call(number: int, *given: int) -> int:
    assert _libc is not None
    return int(_libc.syscall(number, *(ctypes.c_long(one) for one in given)))


def _failed(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")


def landlock_version() -> int:
    """Return the version of Landlock that this kernel has, 0 for none."""
    if _libc is None:
        return 0
    return max(0, _call(_LANDLOCK_CREATE_RULESET, 0, 0, _LANDLOCK_VERSION))


def missing() -> list[str]:
    """Return the parts of the sandbox that this machine lacks, tried in a child process.

    Returns
    -------
    list of str
        What is missing, each with the reason; empty if all is there.

    Examples
    --------
    >>> isinstance(missing(), list)
    True
    """
    if _libc is None or platform.machine() not in _ALLOWED:
        return [f"seccomp and Landlock (this is {sys.platform} on {platform.machine()})"]
    lacks = [] if landlock_version() else ["Landlock (the kernel has none)"]
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            shut(seconds=1, keep=(writer,))
            said = b""
        except OSError as error:
            said = str(error).encode()
        os.write(writer, said)
        os._exit(0)
    os.close(writer)
    said = b""
    while part := os.read(reader, 4096):
        said += part
    os.close(reader)
    _, status = os.waitpid(child, 0)
    if said and not lacks:
        lacks.append(said.decode())
    elif status != 0 and not lacks:
        lacks.append(f"a process in the sandbox ended with {status}")
    return lacks


def _landlock() -> None:
    """No file can be opened from now on, and no port."""
    version = landlock_version()
    if version == 0:
        raise OSError(errno.ENOSYS, "Landlock: the kernel has none")
    files = (1 << _LANDLOCK_FS[min(version, len(_LANDLOCK_FS)) - 1]) - 1
    ports = 3 if version >= _LANDLOCK_NET_FROM else 0
    rules = struct.pack("<QQ", files, ports)[: 16 if ports else 8]
    buffer = ctypes.create_string_buffer(rules, len(rules))
    ruleset = _call(_LANDLOCK_CREATE_RULESET, ctypes.addressof(buffer), len(rules), 0)
    if ruleset < 0:
        raise _failed("Landlock")
    if _call(_LANDLOCK_RESTRICT_SELF, ruleset, 0) < 0:
        raise _failed("Landlock")
    os.close(ruleset)


def _seccomp() -> None:
    """Every system call but those allowed fails with EPERM; one of another table ends it."""
    audit, allowed = _ALLOWED[platform.machine()]
    load, equal, at_least, ret = 0x20, 0x15, 0x35, 0x06
    kill, refuse, allow = 0x80000000, 0x00050000 | errno.EPERM, 0x7FFF0000
    numbers = sorted(allowed.values())
    program = [(load, 0, 0, 4), (equal, 1, 0, audit), (ret, 0, 0, kill), (load, 0, 0, 0)]
    # x32's numbers have a bit of their own.
    program += [(at_least, 0, 1, _X32), (ret, 0, 0, kill)]
    # Other processes' clocks have negative numbers.
    program += [
        (equal, 0, 3, allowed["clock_gettime"]),
        (load, 0, 0, 16),
        (at_least, 0, 1, _CLOCKS),
        (ret, 0, 0, refuse),
        (load, 0, 0, 0),
    ]
    for place, number in enumerate(numbers):
        program.append((equal, len(numbers) - place, 0, number))
    program += [(ret, 0, 0, refuse), (ret, 0, 0, allow)]
    code = b"".join(struct.pack("<HBBI", *line) for line in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    filters = struct.pack("<HxxxxxxQ", len(program), ctypes.addressof(buffer))
    header = ctypes.create_string_buffer(filters, len(filters))
    assert _libc is not None
    if _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(header), 0, 0) != 0:
        raise _failed("seccomp")


def shut(seconds: int, keep: tuple[int, ...]) -> None:
    """Close all doors of this process but its own open files ``keep``.

    Parameters
    ----------
    seconds
        How long it may compute before it is ended.
    keep
        File descriptors that stay open.

    Raises
    ------
    OSError
        If a door cannot be closed; nothing that nobody trusts may run then.
    """
    import resource  # noqa: PLC0415 (where there is none, nobody gets here)

    assert _libc is not None
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    for number in range(FILES * 64):
        if number not in keep:
            with contextlib.suppress(OSError):
                os.close(number)
    for what, limits in (
        (resource.RLIMIT_CPU, (seconds, seconds + 1)),
        (resource.RLIMIT_AS, (MEMORY, MEMORY)),
        (resource.RLIMIT_NOFILE, (FILES, FILES)),
        (resource.RLIMIT_FSIZE, (0, 0)),
        (resource.RLIMIT_CORE, (0, 0)),
    ):
        resource.setrlimit(what, limits)
    if _libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWIPC | _CLONE_NEWNS) != 0:
        raise _failed("namespaces")
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise _failed("no new privileges")
    _landlock()
    _seccomp()
