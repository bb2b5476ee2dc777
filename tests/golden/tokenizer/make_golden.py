#!/usr/bin/env python3
"""Write qwen3.jsonl, smollm2.jsonl and words.jsonl: what PyPI `tokenizers` (0.22) makes of many strings.

Needs build/assets (tools/fetch_assets.sh). Each line: [text, ids]. SmolLM2's tokenizer is rebuilt from its GGUF with PyPI
`gguf`. Each line of words.jsonl: [GGUF name of the pre-tokenizer, text, byte offsets where its words end]; `make_golden.py words`
writes that file alone and needs neither assets nor `gguf`.
"""
import json
import pathlib
import random
import sys
import unicodedata

import tokenizers
from tokenizers import decoders, models, pre_tokenizers

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = pathlib.Path(__file__).parent
FIXED = ["->", "(x):\n", "12345678", "x  \n  y", "DON'T we'LL", "\u2029 \ua3e4", "a\r\n\r\nb", "_" * 12, "\n" * 20,
         "你好，世界！今天是2024年。", "e\u0301\u0323 \u1100\u1161\u11a8", "  two  spaces\t\ttabs ", "don\u2019t 'ſ 'S", "<|im_end|>",
         "def f(x):\n    return x ** 2  # 平方\n", "🤷🏽‍♀️ 👨‍👩‍👧", " 1 2  3", "x1y22z333", "\u00a0nbsp\u3000wide"]


def strings(count, seed=20):
    rng = random.Random(seed)
    by_category = {}
    for c in range(0x110000):
        category = unicodedata.category(chr(c))
        if category not in ("Cs", "Cn", "Co"):
            by_category.setdefault(category, []).append(chr(c))
    categories = sorted(by_category)
    common = list("aA bc1 .'\n\t-_") + ["'s", "'LL", "  ", "\r\n"]
    for _ in range(count):
        yield "".join(rng.choice(common) if rng.random() < 0.5 else rng.choice(by_category[rng.choice(categories)])
                      for _ in range(rng.randint(1, 14)))


def smollm2():
    import gguf

    fields = gguf.GGUFReader(ROOT / "build/assets/SmolLM2-135M-Instruct.Q4_1.gguf").fields
    read = lambda key: [bytes(fields[key].parts[i]).decode() for i in fields[key].data]
    tokens, merges = read("tokenizer.ggml.tokens"), read("tokenizer.ggml.merges")
    made = tokenizers.Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, [tuple(m.split(" ")) for m in merges]))
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                  pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    made.decoder = decoders.ByteLevel()
    return made


def plain_qwen3():
    """Without added tokens: text of a user never becomes one."""
    config = json.loads((ROOT / "build/assets/qwen3/tokenizer.json").read_text())
    config["added_tokens"] = []
    return tokenizers.Tokenizer.from_str(json.dumps(config))


def write_words():
    head = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
    tail = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    kinds = {"qwen2": pre_tokenizers.Split(tokenizers.Regex(head + r"\p{N}" + tail), "isolated"),
             "llama-bpe": pre_tokenizers.Split(tokenizers.Regex(head + r"\p{N}{1,3}" + tail), "isolated"),
             "gpt-2": byte_level,
             "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level])}
    lines = []
    for name, kind in kinds.items():
        for text in FIXED + list(strings(1500, 21)):
            ends = [len(text[:end].encode()) for _, (_, end) in kind.pre_tokenize_str(text)]
            lines.append(json.dumps([name, text, ends], ensure_ascii=False, separators=(",", ":")))
    (HERE / "words.jsonl").write_text("\n".join(lines) + "\n")


def main():
    write_words()
    if sys.argv[1:] == ["words"]:
        return
    for name, tokenizer, count in (("qwen3", plain_qwen3(), 10000), ("smollm2", smollm2(), 4000)):
        lines = [json.dumps([text, tokenizer.encode(text, add_special_tokens=False).ids], ensure_ascii=False)
                 for text in FIXED + list(strings(count))]
        (HERE / f"{name}.jsonl").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
