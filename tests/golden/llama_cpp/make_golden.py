#!/usr/bin/env python3
"""Write smollm2.json: what llama.cpp answers, teacher-forced, on 20 prompts x 64 tokens of the default model.

Needs PyPI llama-cpp-python==0.3.36 (llama.cpp v0.5.0) and build/assets/SmolLM2-135M-Instruct.Q4_1.gguf
(tools/fetch_assets.sh). `answer` is its greedy answer with the file as it is. `top` and `gap` are the top token and its distance to the second
with the same weights as F32, so that llama.cpp's own rounding of activations to 8 bits is not part of the expectation:
that rounding alone changes 29 of the 1,280 top tokens.
"""
import ctypes
import json
import pathlib

import llama_cpp
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOKENS = 64
QUESTIONS = [
    "Name three colours.", "What is the capital of France?", "Write a short poem about the sea.",
    "Explain photosynthesis to a child.", "List the days of the week.", "How do I boil an egg?",
    "Translate 'good morning' into French.", "What is 12 plus 30?", "Tell me a story about a fox.",
    "Why is the sky blue?", "Write a Python function that adds two numbers.", "Give me three tips for sleeping well.",
    "你好，请介绍一下你自己。", "What does HTTP stand for?", "Describe a cat in one sentence.",
    "Who wrote Romeo and Juliet?", "Summarise the water cycle.", "What should I cook tonight?",
    "Compare a train with a plane.", "Say something kind.",
]


def load(path):
    return llama_cpp.Llama(str(path), n_ctx=512, n_threads=2, logits_all=True, verbose=False)


def main():
    quantised = ROOT / "build/assets/SmolLM2-135M-Instruct.Q4_1.gguf"
    plain = ROOT / "build/assets/SmolLM2-135M-Instruct.F32.gguf"
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype, params.allow_requantize = llama_cpp.LLAMA_FTYPE_ALL_F32, True
    assert llama_cpp.llama_model_quantize(str(quantised).encode(), str(plain).encode(), ctypes.byref(params)) == 0
    cases = []
    with_quantised = load(quantised)
    for question in QUESTIONS:
        text = ("<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
                f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n")
        prompt = with_quantised.tokenize(text.encode(), add_bos=False, special=True)
        with_quantised.reset()
        with_quantised.eval(prompt)
        answer = []
        for _ in range(TOKENS):
            answer.append(int(np.argmax(with_quantised.scores[with_quantised.n_tokens - 1])))
            with_quantised.eval([answer[-1]])
        cases.append({"question": question, "prompt": list(prompt), "answer": answer})
    del with_quantised
    model = load(plain)
    for case in cases:
        forced = case["prompt"] + case["answer"][:-1]
        model.reset()
        model.eval(forced)
        logits = np.asarray(model.scores[len(case["prompt"]) - 1:len(forced)])
        ordered = np.sort(logits, axis=1)
        case["top"] = logits.argmax(axis=1).tolist()
        case["gap"] = [round(float(g), 4) for g in ordered[:, -1] - ordered[:, -2]]
    path = pathlib.Path(__file__).with_name("smollm2.json")
    path.write_text("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
