#!/usr/bin/env python3
"""Compare encoding speed with PyPI `tokenizers` (0.22) on one thread, alternating; print the ratio of the medians.

Needs PyPI tokenizers, build/release (./run --build-only) and build/assets (tools/fetch_assets.sh).
  tokenizer_bench.py [FILE...] [--rounds 3]      (no file: this project's documents and sources, Chinese, one long word)
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
import tokenizers  # noqa: E402  (reads the environment when loaded)

ROOT = pathlib.Path(__file__).resolve().parent.parent
ASSET = ROOT / "build/assets/qwen3/tokenizer.json"
CHINESE = "你好世界今天是个晴朗的日子我们一起去公园里散步看见了许多花草树木和小动物这本书非常有意思值得反复阅读"


def default_files(folder):
    rng = random.Random(1)
    texts = {
        "documents": "".join(p.read_text() for p in sorted(ROOT.glob("**/*.md")) if "build" not in p.parts),
        "sources": "".join(p.read_text() for p in sorted(ROOT.glob("src/**/*.cpp")) if p.name != "unicode_tables.cpp"),
        "chinese": "".join(rng.choice(CHINESE) + ("。\n" if rng.random() < 0.05 else "") for _ in range(200000)),
        "one_word": "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(400000)),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
        yield folder / name


def build(folder):
    program = folder / "tokenizer_bench"
    libraries = [ROOT / f"build/release/libsluice_{name}.a" for name in ("text", "base")]
    subprocess.run(["c++", "-std=c++20", "-O2", "-DFMT_HEADER_ONLY=1", f"-I{ROOT}/src", ROOT / "bench/tokenizer_bench.cpp",
                    *libraries, "-lboost_json", "-lfmt", "-lspdlog", "-lxxhash", "-lpthread", "-o", program], check=True)
    return program


def peer():
    """Without added tokens: both sides encode a user's text."""
    config = json.loads(ASSET.read_text())
    config["added_tokens"] = []
    return tokenizers.Tokenizer.from_str(json.dumps(config))


def measure_peer(tokenizer, text):
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        tokens = len(tokenizer.encode(text, add_special_tokens=False).ids)
        best = min(best, time.perf_counter() - start)
    return tokens, best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files = args.files or list(default_files(folder))
        program, other = build(folder), peer()
        for path in files:
            text = path.read_bytes().decode()
            ours, theirs = [], []
            for _ in range(args.rounds):
                out = subprocess.run([program, ASSET, path], check=True, capture_output=True, text=True).stdout.split()
                tokens, seconds = measure_peer(other, text)
                assert int(out[0]) == tokens, f"{path.name}: {out[0]} tokens, the peer has {tokens}"
                ours.append(float(out[1]))
                theirs.append(seconds)
            size, a, b = len(text.encode()) / 1e6, statistics.median(ours), statistics.median(theirs)
            print(f"{path.name}: {tokens} tokens, {size / a:.2f} MB/s (runs {min(ours):.4f}-{max(ours):.4f} s), "
                  f"peer {size / b:.2f} MB/s ({min(theirs):.4f}-{max(theirs):.4f} s), ratio {b / a:.2f}")


if __name__ == "__main__":
    main()
