"""Same request, same bytes (DESIGN: the answer does not depend on what else is in the batch)."""
import concurrent.futures
import json

import pytest
from conftest import DEFAULT_GGUF, Server

PROMPT = "The history of the world is a long story. " * 12
TINY = ["--max-num-batched-tokens", "16"]


def complete(server, prompt, seed, tokens=32):
    status, body = server.post("/v1/completions", {"model": "m", "prompt": prompt, "max_tokens": tokens,
                                                   "temperature": 0.8, "seed": seed, "ignore_eos": True})
    assert status == 200, body
    return json.loads(body)["choices"][0]["text"]


@pytest.fixture(scope="module")
def alone():
    server = Server([str(DEFAULT_GGUF), "--served-model-name", "m"])
    yield server, [complete(server, PROMPT, seed) for seed in range(4)]
    server.stop()


def test_repeat_after_prefix_hit(alone):
    server, expected = alone
    assert [complete(server, PROMPT, seed) for seed in range(4)] == expected


def test_among_31_others(alone):
    server, expected = alone
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        jobs = [pool.submit(complete, server, PROMPT if i < 4 else f"{i} other words " * i, i) for i in range(32)]
        assert [job.result() for job in jobs[:4]] == expected


@pytest.mark.parametrize("arguments", [["--max-num-batched-tokens", "16"], ["--max-num-batched-tokens", "100"],
                                       ["--threads", "1"], ["--threads", "2"]])
def test_other_chunks_and_threads(alone, arguments):
    server = Server([str(DEFAULT_GGUF), "--served-model-name", "m", *arguments])
    try:
        assert [complete(server, PROMPT, seed) for seed in range(4)] == alone[1]
    finally:
        server.stop()


def test_after_preemption(alone):
    # Twelve sequences that end at 16 blocks each and share seven: 115 blocks, of which the pool has 40.
    expected = [complete(alone[0], PROMPT, seed, 128) for seed in range(4)]
    server = Server([str(DEFAULT_GGUF), "--served-model-name", "m", "--num-kv-blocks", "40"])
    try:
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            texts = list(pool.map(lambda i: complete(server, PROMPT, i % 4, 128), range(12)))
        assert texts == [expected[i % 4] for i in range(12)]
        assert server.metric("vllm:num_preemptions_total") > 0
    finally:
        server.stop()
