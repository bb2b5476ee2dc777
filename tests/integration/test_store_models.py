"""Models of the store: loaded on demand, kept alive, unloaded; their parameters; the command line around them."""
import concurrent.futures
import json
import os
import signal
import subprocess
import time
import urllib.request

import pytest
from conftest import BINARY, DEFAULT_GGUF, Server, free_port


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Environment of a store with two names of the default model: `plain`, and `short`, which answers 3 tokens."""
    folder = tmp_path_factory.mktemp("store")
    environment = {"SLUICE_MODELS": str(folder)}
    for name, parameters in (("plain", []), ("short", ["--parameter", "num_predict=3", "--parameter", "seed=1"])):
        subprocess.run([BINARY, "import", str(DEFAULT_GGUF), name, *parameters], check=True,
                       env={**os.environ, **environment}, capture_output=True)
    return environment


@pytest.fixture()
def server(store):
    running = Server([], store)
    yield running
    running.stop()


def get(server, path):
    with urllib.request.urlopen(server.url + path, timeout=10) as reply:
        return json.loads(reply.read())


def ask(server, model, **extra):
    status, text = server.post("/api/chat", {"model": model, "stream": False, **extra,
                                             "messages": [{"role": "user", "content": "Hello"}]})
    return status, json.loads(text)


def test_catalogue_loads_nothing(server):
    models = {model["name"]: model for model in get(server, "/api/tags")["models"]}
    assert set(models) == {"plain:latest", "short:latest"}
    details = models["plain:latest"]["details"]
    assert (details["family"], details["quantization_level"], details["parameter_size"]) == ("llama", "Q4_1", "134.52M")
    shown = json.loads(server.post("/api/show", {"model": "short"})[1])
    assert "num_predict                    3" in shown["parameters"]
    assert shown["model_info"]["llama.context_length"] == 8192
    assert shown["model_info"]["tokenizer.ggml.tokens"] is None
    assert get(server, "/api/ps")["models"] == []


def test_one_load_for_many_requests_and_unloading(server):
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda _: ask(server, "plain", options={"num_predict": 2}), range(12)))
    assert {status for status, _ in answers} == {200}
    running = get(server, "/api/ps")["models"]
    assert [model["name"] for model in running] == ["plain:latest"] and len(running[0]["digest"]) == 64
    assert json.loads(server.post("/api/generate", {"model": "plain", "keep_alive": 0})[1])["done_reason"] == "unload"
    deadline = time.time() + 5
    while get(server, "/api/ps")["models"]:
        assert time.time() < deadline, "still loaded"
        time.sleep(0.05)
    assert ask(server, "plain", options={"num_predict": 2})[0] == 200


def test_model_parameters_are_defaults(server):
    status, reply = ask(server, "short")
    assert (status, reply["eval_count"], reply["done_reason"]) == (200, 3, "length")
    assert ask(server, "short")[1]["message"] == reply["message"], "the stored seed"
    assert ask(server, "short", options={"num_predict": 5})[1]["eval_count"] == 5
    body = {"model": "short", "messages": [{"role": "user", "content": "Hello"}]}
    assert json.loads(server.post("/v1/chat/completions", body)[1])["usage"]["completion_tokens"] == 3


def test_a_model_that_cannot_think_says_so(server):
    status, reply = ask(server, "plain", think=True)
    assert (status, reply["error"]) == (400, '"plain:latest" does not support thinking')
    assert ask(server, "plain", think=False, options={"num_predict": 1})[0] == 200


def test_f010_long_chats_lose_whole_old_turns(server):
    history = [{"role": "system", "content": "Be kind."}]
    for i in range(400):
        history += [{"role": "user", "content": f"Question {i}?"}, {"role": "assistant", "content": f"Answer {i}."}]
    body = {"model": "plain", "stream": False, "messages": history + [{"role": "user", "content": "And now?"}],
            "options": {"num_ctx": 200, "num_predict": 4}}
    status, text = server.post("/api/chat", body)
    reply = json.loads(text)
    assert status == 200, text
    # A turn has about 24 tokens: what stays fills the window but for one turn and the answer's first token.
    assert 200 - 30 <= reply["prompt_eval_count"] < 200
    status, text = server.post("/api/chat", {**body, "truncate": False})
    assert status == 400 and "200" in json.loads(text)["error"]
    body["messages"][-1]["content"] = "word " * 500
    status, text = server.post("/api/chat", body)
    assert status == 400 and "200" in json.loads(text)["error"], "the last question is never cut"


def test_run_by_name_without_a_server(store):
    environment = {**os.environ, **store, "SLUICE_HOST": f"127.0.0.1:{free_port()}"}
    done = subprocess.run([BINARY, "run", "short", "Hello"], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.strip(), done.stderr
    piped = subprocess.run([BINARY, "run", "short"], input="Hello", env=environment, capture_output=True, text=True,
                           timeout=60)
    assert piped.stdout == done.stdout, "a question on standard input"
    missing = subprocess.run([BINARY, "run", "nobody", "Hello"], env=environment, capture_output=True, text=True,
                             timeout=60)
    assert missing.returncode != 0 and "nobody" in missing.stderr


@pytest.mark.parametrize("wait", [0.02, 0.1, 0.3])
def test_ctrl_c_while_loading(store, wait):
    process = subprocess.Popen([BINARY, "serve", "plain", "--port", str(free_port())], env={**os.environ, **store},
                               stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    time.sleep(wait)
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=10)[1].decode()
    # Before main() the shell's way; while loading with a message; afterwards as any end.
    assert process.returncode in (-signal.SIGINT, 0, 1), errors
    assert process.returncode != 1 or "loading was stopped" in errors


def test_keep_alive_0_unloads_after_the_answer(server):
    assert ask(server, "plain", options={"num_predict": 1})[0] == 200
    status, reply = ask(server, "plain", keep_alive=0, options={"num_predict": 20})
    assert status == 200 and reply["load_duration"] < 50e6, "the loaded model answered"
    assert reply["total_duration"] >= reply["load_duration"] + reply["eval_duration"]
    deadline = time.time() + 5
    while get(server, "/api/ps")["models"]:
        assert time.time() < deadline, "still loaded"
        time.sleep(0.05)
    server.post("/api/generate", {"model": "plain", "keep_alive": 0})  # of an unloaded model: no trace
    assert ask(server, "plain", options={"num_predict": 1})[0] == 200
    time.sleep(1.5)
    assert len(get(server, "/api/ps")["models"]) == 1
