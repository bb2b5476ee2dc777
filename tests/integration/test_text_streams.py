"""Exact black-box checks of what text reaches a client: models that answer chosen tokens (field reports by number)."""
import json
import math
import struct

import pytest
from conftest import sse

THINK, THINK_END = 151667, 151668
FAMILY = [145367, 378, 235, 145233]  # man, zero-width joiner in two tokens, woman
DRAGON = [82912, 246]  # one character in two tokens


def chat(server, **fields):
    status, body = server.post("/v1/chat/completions", {
        "model": "chain", "temperature": 0, "messages": [{"role": "user", "content": "hi"}], **fields})
    assert status == 200, body
    return body


def whole(server, **fields):
    return json.loads(chat(server, **fields))["choices"][0]


def streamed(server, **fields):
    """(content, reasoning, finish reason, deltas) of a stream."""
    content, reasoning, finish, deltas = "", "", None, []
    for event in sse(chat(server, stream=True, **fields)):
        for choice in event["choices"]:
            delta = choice["delta"]
            deltas.append(delta)
            content += delta.get("content") or ""
            reasoning += delta.get("reasoning_content") or ""
            finish = choice["finish_reason"] or finish
    return content, reasoning, finish, deltas


@pytest.mark.parametrize("form", ["gguf", "hf"])
def test_f001_split_characters(chain, form):
    server = chain({"seq": FAMILY + DRAGON}, form)
    plain = {"chat_template_kwargs": {"enable_thinking": False}}
    expected = "\U0001f468\u200d\U0001f469龘"
    assert whole(server, **plain)["message"]["content"] == expected
    content, _, finish, deltas = streamed(server, **plain)
    assert content == expected and finish == "stop"
    assert not any("\ufffd" in json.dumps(delta, ensure_ascii=False) for delta in deltas)


def test_f012_thinking_off_streams_content(chain, segment):
    server = chain({"seq": segment("The answer is 4")})
    off = {"chat_template_kwargs": {"enable_thinking": False}}
    assert whole(server, **off)["message"]["content"] == "The answer is 4"
    assert streamed(server, **off)[:2] == ("The answer is 4", "")


def test_f013_limit_inside_the_thought(chain, segment):
    thought = segment("Let me think about this problem step by step, carefully")
    answer = segment("Done: 42", tuple(thought) + (198, 271))
    server = chain({"seq": [THINK, *thought, THINK_END, *answer]})
    for limit in range(1, len(thought) + len(answer) + 3):
        one = whole(server, max_tokens=limit)
        content, reasoning, finish, _ = streamed(server, max_tokens=limit)
        assert (one["message"]["content"] or "") == content
        assert (one["message"].get("reasoning_content") or "") == reasoning
        assert one["finish_reason"] == finish
        assert "Done: 42".startswith(content)
        if limit <= len(thought) + 1:
            assert content == "" and finish == "length"


def test_f014_empty_think_block(chain, segment):
    answer = segment('{"a":1}')
    server = chain({"seq": [THINK, 271, THINK_END, *answer], "trigger": [198]})
    one = whole(server)
    assert json.loads(one["message"]["content"]) == {"a": 1}
    assert not one["message"].get("reasoning_content")
    assert streamed(server)[0] == '{"a":1}'


def test_f022_stop_strings(chain, segment):
    text = "ABCDEFGHIJKL"
    server = chain({"seq": segment(text)})
    off = {"chat_template_kwargs": {"enable_thinking": False}}
    for length in range(1, 9):
        for begin in range(0, len(text) - length + 1, 2):
            stop = text[begin:begin + length]
            one = whole(server, stop=[stop], **off)
            assert one["message"]["content"] == text.split(stop)[0]
            assert one["finish_reason"] == "stop" and one["stop_reason"] == stop
            assert streamed(server, stop=[stop], **off)[0] == text.split(stop)[0]
    assert whole(server, stop=["KLM"], **off)["message"]["content"] == text


def test_f024_tiny_temperature(chain):
    server = chain({"seq": [{"ids": [82912, 32], "p": [0.7, 0.3]}]})
    off = {"chat_template_kwargs": {"enable_thinking": False}, "max_tokens": 1}
    for temperature in (1e-3, 1e-4, 1e-5, 1e-38, 0):
        for seed in range(5):
            one = whole(server, temperature=temperature, seed=seed, logprobs=True, top_logprobs=1, **off)
            assert one["logprobs"]["content"][0]["bytes"] == [233, 190]


def test_f044_limit_inside_a_character(chain):
    server = chain({"seq": DRAGON})
    off = {"chat_template_kwargs": {"enable_thinking": False}}
    for limit in (1, 2):
        one = whole(server, max_tokens=limit, logprobs=True, top_logprobs=2, **off)
        assert [entry["bytes"] for entry in one["logprobs"]["content"]][:2] == [[233, 190], [152]][:limit]
        assert streamed(server, max_tokens=limit, **off)[0] == one["message"]["content"]


def test_f002_control_tokens_in_user_text(chain, segment):
    server = chain({"seq": segment("ok")})

    def prompt_tokens(content):
        return json.loads(chat(server, messages=[{"role": "user", "content": content}]))["usage"]["prompt_tokens"]

    assert prompt_tokens("hi<|im_end|>") == prompt_tokens("hi") + 6


def test_logprobs_are_exact(chain):
    server = chain({"seq": [{"ids": [82912, 32], "p": [0.7, 0.3]}]})
    one = whole(server, max_tokens=1, logprobs=True, top_logprobs=2,
                chat_template_kwargs={"enable_thinking": False})
    top = one["logprobs"]["content"][0]["top_logprobs"]
    # The file keeps (30 + ln p) / 8 as a half float, so this is what its logits say exactly.
    logits = [struct.unpack("<e", struct.pack("<e", (30 + math.log(p)) / 8))[0] * 8 for p in (0.7, 0.3)]
    total = math.log(sum(math.exp(logit) for logit in logits))
    for entry, logit in zip(top, logits, strict=True):
        assert abs(entry["logprob"] - (logit - total)) < 1e-3


def test_sampled_shares(chain):
    server = chain({"seq": [{"ids": [32, 33], "p": [0.7, 0.3]}]})
    status, body = server.post("/v1/completions", {"model": "chain", "prompt": ["\n"] * 200, "max_tokens": 1,
                                                  "temperature": 1, "seed": None})
    assert status == 200
    texts = [choice["text"] for choice in json.loads(body)["choices"]]
    assert len(texts) == 200 and 0.6 < texts.count("A") / 200 < 0.8
