"""The network is cut off: what a test wants of another machine is an error, and fails the test.

For this process and what it forks. Commands of their own are cut off by `without_network`, which
gives a process a network of nothing but this machine.
"""

import ctypes
import errno
import fcntl
import ipaddress
import os
import socket
import struct
import sys
from collections.abc import Iterator

import pytest

NEW_USER, NEW_NETWORK = 0x10000000, 0x40000000
GET_FLAGS, SET_FLAGS, IS_UP = 0x8913, 0x8914, 0x1
ADDRESSED = ("socket.connect", "socket.sendto", "socket.sendmsg")
NAMED = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")

_attempts: list[str] = []


def is_here(host: object) -> bool:
    """Whether a name or an address is that of this machine."""
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host in (None, "", "localhost", "<broadcast>", socket.gethostname()):
        return host != "<broadcast>"
    try:
        address = ipaddress.ip_address(str(host))
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    """The audit hook: Python asks it before a socket does anything."""
    if event in ADDRESSED:
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None  # A path: no network.
    elif event in NAMED:
        host = arguments[0]
    else:
        return
    if not is_here(host):
        _attempts.append(f"{event} {host}")
        raise OSError(errno.ENETUNREACH, f"the tests have no network: {host}")


def pytest_configure(config: pytest.Config) -> None:
    """Cut it off, once: a hook cannot be taken away."""
    if not getattr(sys, "_nmt_has_no_network", False):
        sys._nmt_has_no_network = True  # type: ignore[attr-defined]
        sys.addaudithook(_refuse)


@pytest.fixture(autouse=True)
def network_attempts() -> Iterator[list[str]]:
    """What a test wanted of other machines; it fails unless it has looked and cleared this."""
    _attempts.clear()
    yield _attempts
    assert _attempts == []


def without_network() -> str:
    """Give this process, alone, no network but this machine; why that cannot be, or nothing."""
    library = ctypes.CDLL(None, use_errno=True)
    flags = NEW_NETWORK if os.getuid() == 0 else NEW_NETWORK | NEW_USER
    if library.unshare(flags):
        return os.strerror(ctypes.get_errno())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        name = b"lo".ljust(16, b"\0")
        asked = fcntl.ioctl(probe, GET_FLAGS, name + bytes(24))
        (up,) = struct.unpack("H", asked[16:18])
        fcntl.ioctl(probe, SET_FLAGS, name + struct.pack("H", up | IS_UP) + bytes(22))
    return ""
