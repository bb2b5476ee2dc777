#!/usr/bin/env python3
"""Write smollm2.json: what llama.cpp answers, teacher-forced, on 20 prompts x 64 tokens of the default model.

Needs PyPI llama-cpp-python==0.3.36 (llama.cpp v0.5.0) and build/assets/SmolLM2-135M-Instruct.Q4_1.gguf
(tools/fetch_assets.sh). Per position: the top token and how far its logit is above the second (the gap).
"""
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


def main():
    model = llama_cpp.Llama(str(ROOT / "build/assets/SmolLM2-135M-Instruct.Q4_1.gguf"), n_ctx=512, n_threads=2,
                            logits_all=True, verbose=False)
    cases = []
    for question in QUESTIONS:
        text = ("<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
                f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n")
        prompt = model.tokenize(text.encode(), add_bos=False, special=True)
        model.reset()
        model.eval(prompt)
        answer, gaps = [], []
        for _ in range(TOKENS):
            logits = np.asarray(model.scores[model.n_tokens - 1])
            second, first = np.sort(logits)[-2:]
            answer.append(int(np.argmax(logits)))
            gaps.append(round(float(first - second), 4))
            model.eval([answer[-1]])
        cases.append({"question": question, "prompt": list(prompt), "answer": answer, "gap": gaps})
    path = pathlib.Path(__file__).with_name("smollm2.json")
    path.write_text("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
