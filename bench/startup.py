#!/usr/bin/env python3
"""Start of the program to the first byte of an answer: `sluice run MODEL QUESTION`, the file in the page cache.

  startup.py MODEL.gguf [--rounds 5] [--sluice build/release/sluice]
"""
import argparse
import pathlib
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def first_byte(options):
    start = time.perf_counter()
    process = subprocess.Popen([options.sluice, "run", options.model, "Name three colours."], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    assert process.stdout.read(1), "no answer"
    seconds = time.perf_counter() - start
    process.kill()
    process.wait()
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sluice", default=str(ROOT / "build/release/sluice"))
    options = parser.parse_args()
    first_byte(options)  # warms the page cache
    times = [first_byte(options) for _ in range(options.rounds)]
    print(f"first byte after {statistics.median(times):.3f} s ({min(times):.3f}-{max(times):.3f})")


if __name__ == "__main__":
    main()
