"""Unmodified official clients against the running binary."""
import ollama
import openai
import pytest

QUESTION = {"role": "user", "content": "Name three colours."}


@pytest.fixture(scope="session")
def openai_client(default_server):
    return openai.OpenAI(base_url=default_server.url + "/v1", api_key="none", max_retries=0)


@pytest.fixture(scope="session")
def ollama_client(default_server):
    return ollama.Client(host=default_server.url)


def test_openai_models(openai_client):
    assert [model.id for model in openai_client.models.list()] == ["smollm2:135m"]


@pytest.mark.parametrize("content", ["Name three colours.", "你好，请用中文介绍一下自己。"])
def test_openai_chat_stream_equals_whole(openai_client, content):
    request = dict(model="smollm2:135m", messages=[{"role": "user", "content": content}], temperature=0, max_tokens=48)
    whole = openai_client.chat.completions.create(**request)
    text, usage = "", None
    for chunk in openai_client.chat.completions.create(stream=True, stream_options={"include_usage": True}, **request):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
    assert text == whole.choices[0].message.content and "\ufffd" not in text and text
    assert usage.completion_tokens == whole.usage.completion_tokens


def test_openai_seeded_sampling_repeats(openai_client):
    request = dict(model="smollm2:135m", messages=[QUESTION], temperature=1, seed=7, max_tokens=24)
    first, second = (openai_client.chat.completions.create(**request).choices[0].message.content for _ in range(2))
    assert first == second


def test_openai_completions(openai_client):
    reply = openai_client.completions.create(model="smollm2:135m", prompt="The sky is", max_tokens=8, temperature=0,
                                             logprobs=2, echo=False)
    assert reply.usage.completion_tokens == 8
    assert "".join(reply.choices[0].logprobs.tokens) == reply.choices[0].text
    by_ids = openai_client.completions.create(model="smollm2:135m", prompt=[504, 6376, 314], max_tokens=8, temperature=0)
    assert by_ids.usage.prompt_tokens == 3


def test_openai_ignore_eos_and_errors(openai_client):
    reply = openai_client.completions.create(model="smollm2:135m", prompt="Hi", max_tokens=40, temperature=0,
                                             extra_body={"ignore_eos": True})
    assert reply.usage.completion_tokens == 40
    with pytest.raises(openai.NotFoundError):
        openai_client.chat.completions.create(model="nope", messages=[QUESTION])
    with pytest.raises(openai.BadRequestError, match="maximum context length"):
        openai_client.completions.create(model="smollm2:135m", prompt="a b " * 9000, max_tokens=8)


def test_ollama_chat(ollama_client):
    request = dict(model="smollm2:135m", messages=[QUESTION], options={"temperature": 0, "num_predict": 32})
    whole = ollama_client.chat(**request)
    parts = list(ollama_client.chat(stream=True, **request))
    assert "".join(part.message.content for part in parts) == whole.message.content
    assert parts[-1].done and parts[-1].eval_count == whole.eval_count == 32
    assert parts[-1].done_reason == "length" and parts[-1].total_duration > 0


def test_ollama_generate_and_catalogue(ollama_client):
    reply = ollama_client.generate(model="smollm2:135m", prompt="Name three colours.",
                                   options={"temperature": 0, "num_predict": 16, "thinking": False})
    assert reply.response and reply.eval_count == 16
    assert [model.model for model in ollama_client.list().models] == ["smollm2:135m"]
    assert ollama_client.ps().models[0].model == "smollm2:135m"
    assert ollama_client.show("smollm2:135m").details.family == "llama"
    with pytest.raises(ollama.ResponseError):
        ollama_client.chat(model="nope", messages=[QUESTION])


def test_both_dialects_agree(openai_client, ollama_client):
    one = openai_client.chat.completions.create(model="smollm2:135m", messages=[QUESTION], temperature=0, max_tokens=32)
    two = ollama_client.chat(model="smollm2:135m", messages=[QUESTION], options={"temperature": 0, "num_predict": 32})
    assert one.choices[0].message.content == two.message.content
