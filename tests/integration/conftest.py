"""Fixtures: the real binary on loopback, with the default model and with models that answer chosen tokens."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("SLUICE_BINARY", str(ROOT / "build/release/sluice"))
ASSETS = ROOT / "build/assets"
DEFAULT_GGUF = ASSETS / "SmolLM2-135M-Instruct.Q4_1.gguf"
TOKENIZER = ASSETS / "qwen3"

sys.path.insert(0, str(ROOT / "tests/support"))
import chain_model  # noqa: E402


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A running `sluice serve`; `url` has no trailing slash."""

    def __init__(self, arguments, environment=None):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = open(ROOT / f"build/serve-{self.port}.log", "wb")
        self.process = subprocess.Popen([BINARY, "serve", *arguments, "--port", str(self.port)], stderr=self.log,
                                        stdout=self.log, env={**os.environ, **(environment or {})})
        deadline = time.time() + 60
        while True:
            try:
                with urllib.request.urlopen(self.url + "/health", timeout=2) as reply:
                    if reply.status == 200:
                        return
            except OSError:
                pass
            assert self.process.poll() is None, pathlib.Path(self.log.name).read_text()
            assert time.time() < deadline, "server did not become healthy"
            time.sleep(0.05)

    def rss_bytes(self):
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith("VmRSS"):
                return int(line.split()[1]) * 1024
        return 0

    def metric(self, name):
        """Sum of all samples of a metric."""
        with urllib.request.urlopen(self.url + "/metrics", timeout=5) as reply:
            lines = reply.read().decode().split("\n")
        values = [float(line.rsplit(" ", 1)[1]) for line in lines
                  if line.startswith(name + "{") or line.startswith(name + " ")]
        assert values, f"no metric {name}"
        return sum(values)

    def post(self, path, body):
        """Status and body text; bytes are sent as they are, anything else as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(20)
        self.log.close()


def sse(text):
    """JSON bodies of a text/event-stream, without [DONE]."""
    return [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: ") and line != "data: [DONE]"]


@pytest.fixture(scope="session")
def default_server():
    server = Server([str(DEFAULT_GGUF), "--served-model-name", "smollm2:135m"])
    yield server
    server.stop()


@pytest.fixture(scope="session")
def chain(tmp_path_factory):
    """chain(spec, form) -> Server of a model that answers spec, in form "gguf" or "hf"; one per spec and form."""
    running = {}

    def start(spec, form="gguf", arguments=()):
        key = (json.dumps(spec, sort_keys=True), form, tuple(arguments))
        if key not in running:
            folder = tmp_path_factory.mktemp("chain")
            chain_model.build(str(TOKENIZER), str(folder), spec)
            path = folder / "model.gguf" if form == "gguf" else folder
            running[key] = Server([str(path), "--served-model-name", "chain", *arguments])
        return running[key]

    yield start
    for server in running.values():
        server.stop()


@pytest.fixture(scope="session")
def segment():
    """segment(text) -> distinct token ids of Qwen3 that spell it."""
    tokenizer = json.loads((TOKENIZER / "tokenizer.json").read_text())

    def cut(text, avoid=(198, 271)):
        ids = chain_model.segment(tokenizer, text, avoid)
        assert ids, f"no spelling of {text!r}"
        return ids

    return cut
