"""Bad input, clients that leave, full pools: a clear error, and the server and the others live on."""
import json
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest
from conftest import BINARY, DEFAULT_GGUF, Server, free_port


@pytest.fixture(scope="module")
def endless(chain):
    return chain({"seq": [32, 33, 34], "loop": True, "trigger": "all"}, "gguf", ["--num-kv-blocks", "256"])


def raw_stream(server, body):
    """Opens a request and returns the socket after the first bytes of the answer."""
    data = json.dumps(body).encode()
    client = socket.create_connection(("127.0.0.1", server.port), timeout=10)
    client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                   b"Content-Length: %d\r\n\r\n" % len(data) + data)
    return client


def wait_idle(server, seconds=2.0):
    deadline = time.time() + seconds
    while time.time() < deadline:
        if server.metric("vllm:num_requests_running") == 0:
            return
        time.sleep(0.02)
    raise AssertionError("requests still run after the client left")


@pytest.mark.parametrize("stream", [True, False])
def test_f041_client_leaves(endless, stream):
    body = {"model": "chain", "prompt": "x", "max_tokens": 3000, "stream": stream}
    for _ in range(20):
        client = raw_stream(endless, body)
        if stream:
            client.recv(4096)
        else:
            time.sleep(0.02)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        client.close()
    wait_idle(endless)
    generated = endless.metric("vllm:generation_tokens_total")
    time.sleep(0.3)
    assert endless.metric("vllm:generation_tokens_total") <= generated + 2


def test_f037_prompt_over_the_pool(chain, segment):
    server = chain({"seq": segment("ok")}, "gguf", ["--num-kv-blocks", "40"])
    started = time.time()
    status, body = server.post("/v1/completions", {"model": "chain", "prompt": "word " * 1000, "max_tokens": 5})
    assert status == 400 and time.time() - started < 1, body
    assert server.post("/v1/completions", {"model": "chain", "prompt": "hello\n", "max_tokens": 5})[0] == 200


@pytest.mark.parametrize("body", [
    b"{", b"[]", b"\xff\xfe", b'{"messages":' + b"[" * 5000, {"model": "chain"}, {"messages": "hi"},
    {"messages": [{"role": "user", "content": "x"}], "temperature": -1},
    {"messages": [{"role": "user", "content": "x"}], "max_tokens": 0},
    {"messages": [{"role": "user", "content": "x"}], "n": 0, "stream": True},
    {"messages": [{"role": "user", "content": "x"}], "logit_bias": {"191222": -100}},
    {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
    {"messages": []}])
def test_bad_bodies(endless, body):
    status, text = endless.post("/v1/chat/completions", body)
    assert 400 <= status < 500, text
    assert json.loads(text)["error"]["message"]


def test_f005_long_runs(default_server):
    for text in ("\n" * 60000 + "hi", " " * 100000, "\t" * 100000, "Z" * 131072):
        status, body = default_server.post("/v1/completions", {"model": "smollm2:135m", "prompt": text, "max_tokens": 1})
        assert status in (200, 400), body


def test_f047_error_before_the_stream(endless):
    status, body = endless.post("/v1/chat/completions", {
        "messages": [{"role": "user", "content": "x"}], "stream": True, "top_p": 7})
    assert status == 400 and "top_p" in body


def test_f065_health_from_the_start_to_the_end():
    """Until the model is loaded nobody answers; from then on 200; after SIGTERM nobody."""
    port = free_port()
    process = subprocess.Popen([BINARY, "serve", str(DEFAULT_GGUF), "--port", str(port)], stderr=subprocess.DEVNULL)
    seen = []
    while not seen or seen[-1] != 200:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as reply:
                seen.append(reply.status)
        except urllib.error.HTTPError as error:
            seen.append(error.code)
        except OSError:
            seen.append(None)
        assert process.poll() is None
    assert set(seen) <= {None, 200}
    process.terminate()
    assert process.wait(20) == 0


def test_port_in_use_is_a_clear_error(endless):
    other = subprocess.run([BINARY, "serve", str(DEFAULT_GGUF), "--port", str(endless.port)], capture_output=True,
                           timeout=60)
    assert other.returncode != 0 and b"in use" in other.stderr


def test_missing_and_truncated_files(tmp_path):
    missing = subprocess.run([BINARY, "serve", str(tmp_path / "no.gguf"), "--port", str(free_port())],
                             capture_output=True, timeout=60)
    assert missing.returncode != 0 and b"no.gguf" in missing.stderr
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(DEFAULT_GGUF.read_bytes()[:-1000])
    broken = subprocess.run([BINARY, "serve", str(cut), "--port", str(free_port())], capture_output=True, timeout=60)
    assert broken.returncode != 0 and b"cut.gguf" in broken.stderr
