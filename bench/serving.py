#!/usr/bin/env python3
"""N streams at once against an OpenAI server: total tokens per second and time to first token.

  serving.py http://127.0.0.1:11434 [--streams 16] [--tokens 64] [--prompt-words 48] [--model NAME]
Standard library only; prints one JSON line.
"""
import argparse
import concurrent.futures
import json
import statistics
import time
import urllib.request


def one(options, number):
    prompt = f"{number} " + "word " * options.prompt_words
    body = {"model": options.model, "prompt": prompt, "max_tokens": options.tokens, "temperature": 0, "stream": True,
            "ignore_eos": True, "stream_options": {"include_usage": True}}
    request = urllib.request.Request(options.url + "/v1/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    start, first, tokens = time.perf_counter(), None, 0
    with urllib.request.urlopen(request, timeout=600) as reply:
        for line in reply:
            if line.startswith(b"data: {"):
                event = json.loads(line[6:])
                if event.get("choices") and first is None:
                    first = time.perf_counter() - start
                if event.get("usage"):
                    tokens = event["usage"]["completion_tokens"]
    return first, tokens


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--streams", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--prompt-words", type=int, default=48)
    parser.add_argument("--model", default="")
    options = parser.parse_args()
    start = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(options.streams) as pool:
        results = list(pool.map(lambda i: one(options, i), range(options.streams)))
    seconds = time.perf_counter() - start
    firsts = [first for first, _ in results]
    print(json.dumps({"streams": options.streams, "tokens_per_second": sum(n for _, n in results) / seconds,
                      "first_token_median_s": statistics.median(firsts), "first_token_last_s": max(firsts)}))


if __name__ == "__main__":
    main()
