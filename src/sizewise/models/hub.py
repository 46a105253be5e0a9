"""The hub that trained encoders come from: found out of reach in seconds, not after half a minute of retries."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit
from urllib.request import getproxies

ENDPOINT = "https://huggingface.co"
PATIENCE_S = 5.0


def hub_host() -> tuple[str, int]:
    """Where the hub's library would connect to; users behind a mirror set ``HF_ENDPOINT``.

    >>> hub_host()[1] > 0
    True
    """
    address = urlsplit(os.environ.get("HF_ENDPOINT") or ENDPOINT)
    return address.hostname or "", address.port or (80 if address.scheme == "http" else 443)


def is_reachable(*, patience_s: float = PATIENCE_S) -> bool:
    """Whether the hub takes a connection. Behind a proxy, which alone could tell, the answer is yes.

    In a thread, since a name server that does not answer keeps a look-up for longer than any time-out of the socket.
    """
    if getproxies().get("https") or getproxies().get("all"):
        return True
    answers: list[bool] = []
    thread = threading.Thread(target=_connect, args=(answers, patience_s), daemon=True)
    thread.start()
    thread.join(patience_s)
    return any(answers)


def _connect(answers: list[bool], patience_s: float) -> None:
    try:
        socket.create_connection(hub_host(), timeout=patience_s).close()
    except OSError:
        return
    answers.append(True)


@contextmanager
def hub_or_cache() -> Iterator[bool]:
    """Within the block the hub's library asks its cache alone if the hub is out of reach; yields whether it can be had.

    Weights that were fetched before are then found at once, and those that were not are an error at once.
    """
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    reachable = not before and is_reachable()
    constants.HF_HUB_OFFLINE = not reachable
    try:
        yield reachable
    finally:
        constants.HF_HUB_OFFLINE = before
