"""A headless Chromium, driven over a pipe by the DevTools protocol: no driver program, no port, no library."""

import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

BINARY = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage",
    "--no-first-run", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 600.0


class Page:
    """One tab. What it logs as an error, and what it throws, is kept in ``errors``; what it fetches in ``requests``."""

    def __init__(self, to: int, back: int) -> None:
        self.to, self.back, self.count, self.buffer, self.session = to, back, 0, b"", None
        self.events: list[dict] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    @property
    def errors(self) -> list[str]:
        self.run("0")  # lets what was thrown arrive
        thrown = [
            e["params"]["exceptionDetails"]["text"] for e in self.events if e["method"] == "Runtime.exceptionThrown"
        ]
        logged = [
            e["params"]["entry"]["text"]
            for e in self.events
            if e["method"] == "Log.entryAdded" and e["params"]["entry"]["level"] in ("error", "warning")
        ]
        told = [str(e["params"]["args"]) for e in self.events if e["method"] == "Runtime.consoleAPICalled"]
        return thrown + logged + told

    @property
    def requests(self) -> list[str]:
        urls = [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith("data:")]

    def call(self, method: str, **params) -> dict:
        self.count += 1
        message = {"id": self.count, "method": method, "params": params} | (
            {"sessionId": self.session} if self.session else {}
        )
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while (answer := self._receive()).get("id") != self.count:
            if "method" in answer:
                self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(self, path: Path, *, width: int = 1200, height: int = 900, dark: bool = False) -> float:
        """Load a file; returns the seconds until its load event and the first frame after it."""
        phone = width < 500
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=features)
        start = time.monotonic()
        self.call("Page.navigate", url=path.absolute().as_uri())
        wanted = "document.readyState === 'complete' && location.protocol === 'file:'"
        while not self.run(wanted):
            assert time.monotonic() - start < PATIENCE, "the page did not load"
        self.run("new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")
        return time.monotonic() - start

    def run(self, script: str):
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def key(self, name: str) -> None:
        code = {"Tab": 9, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}[name]
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)

    def mouse(self, kind: str, x: float, y: float) -> None:
        button = {"button": "left", "clickCount": 1} if kind != "mouseMoved" else {}
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def _receive(self) -> dict:
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.back], [], [], PATIENCE)
            assert ready, "Chromium does not answer"
            piece = os.read(self.back, 1 << 20)
            assert piece, "Chromium ended"
            self.buffer += piece
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)


@contextlib.contextmanager
def browser() -> Iterator[Page]:
    """Start Chromium with an empty profile, and end it."""
    assert BINARY
    read_command, write_command = os.pipe()
    read_answer, write_answer = os.pipe()

    def connect() -> (
        None
    ):  # Chromium reads commands from 3 and answers on 4; high copies first, lest one overwrite the other
        high = [os.dup2(end, at) for end, at in ((read_command, 103), (write_answer, 104))]
        os.dup2(high[0], 3)
        os.dup2(high[1], 4)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [BINARY, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=connect,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_command)
        os.close(write_answer)
        try:
            yield Page(write_command, read_answer)
        finally:
            process.kill()
            process.wait()
            os.close(write_command)
            os.close(read_answer)
