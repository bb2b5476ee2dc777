#!/usr/bin/env python3
"""Alternate `sluice bench` with llama.cpp on one GGUF file and print the ratio of the medians.

Needs PyPI llama-cpp-python. Both sides: 2 threads unless told, prefill of N tokens, then decode of M tokens at that depth.
  compare_llama.py MODEL.gguf [--prompt 256] [--tokens 64] [--rounds 3] [--threads 2] [--sluice build/release/sluice]
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import time

import llama_cpp

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Peer:
    """llama.cpp through its C API, so no Python work stands between two tokens."""

    def __init__(self, path, threads, context):
        llama_cpp.llama_backend_init()
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
        params = llama_cpp.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = context, 512, 512
        params.n_threads = params.n_threads_batch = threads
        self.context = llama_cpp.llama_init_from_model(self.model, params)

    def decode(self, tokens):
        array = (llama_cpp.llama_token * len(tokens))(*tokens)
        assert llama_cpp.llama_decode(self.context, llama_cpp.llama_batch_get_one(array, len(tokens))) == 0

    def measure(self, prompt, tokens):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), True)
        ids = [(i * 7919) % 30000 + 100 for i in range(prompt)]
        start = time.perf_counter()
        self.decode(ids)
        middle = time.perf_counter()
        for i in range(tokens):
            self.decode([ids[i % prompt]])
        end = time.perf_counter()
        return {"prefill": prompt / (middle - start), "decode": tokens / (end - middle)}


def sluice(binary, model, options):
    out = subprocess.run([binary, "bench", model, "--prompt-tokens", str(options.prompt), "--output-tokens",
                          str(options.tokens), "--threads", str(options.threads)], capture_output=True, text=True,
                         check=True).stdout
    line = json.loads(out.strip().split("\n")[-1])
    return {"prefill": line["prefill_tokens_per_second"], "decode": line["decode_tokens_per_second"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--prompt", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sluice", default=str(ROOT / "build/release/sluice"))
    options = parser.parse_args()
    peer = Peer(options.model, options.threads, options.prompt + options.tokens + 8)
    peer.measure(options.prompt, 8)
    ours, theirs = [], []
    for _ in range(options.rounds):
        theirs.append(peer.measure(options.prompt, options.tokens))
        ours.append(sluice(options.sluice, options.model, options))
    for kind in ("prefill", "decode"):
        a, b = [x[kind] for x in ours], [x[kind] for x in theirs]
        print(f"{kind:8} sluice {statistics.median(a):8.1f} ({min(a):.1f}-{max(a):.1f})  "
              f"llama.cpp {statistics.median(b):8.1f} ({min(b):.1f}-{max(b):.1f})  "
              f"ratio {statistics.median(a) / statistics.median(b):.2f}")


if __name__ == "__main__":
    main()
