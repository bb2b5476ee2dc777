"""make_golden.py: what the Python packages gguf and numpy say about GGUF's element formats, as values.json beside this file.

Blocks of random bytes with finite scales and gguf's values for them; floats with numpy's nearest half and gguf's nearest
bfloat16. Bits of floats throughout, so that nothing is lost in the text. Needs: gguf, numpy.
"""
import json
import pathlib

import gguf
import numpy as np

BLOCKS = 3
# Bytes of half floats in a block, which random bits would make infinite.
SCALES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q4_K": [0, 2], "Q6_K": [208]}


def bits(values):
    return [int(x) for x in np.asarray(values, np.float32).view(np.uint32).ravel()]


def blocks(rng, name):
    kind = gguf.GGMLQuantizationType[name]
    _, size = gguf.GGML_QUANT_SIZES[kind]
    data = rng.integers(0, 256, (BLOCKS, size), dtype=np.uint8)
    for at in SCALES[name]:
        data[:, at:at + 2] = rng.normal(0, 0.01, (BLOCKS, 1)).astype(np.float16).view(np.uint8)
    return {"bytes": data.ravel().tolist(), "values": bits(gguf.quants.dequantize(data, kind))}


def floats(rng):
    """Floats of every size, ties of both 16-bit formats, and the values at which half overflows and underflows."""
    x = (rng.normal(0, 1, 400) * 2.0 ** rng.integers(-30, 20, 400)).astype(np.float32)
    ties = rng.integers(0, 1 << 31, 100, dtype=np.uint32)
    half_ties = ((ties & 0x07FFE000) + 0x3C001000).view(np.float32)
    bf16_ties = ((ties & 0x3FFF0000) + 0x20008000).view(np.float32)
    edges = [0.0, -0.0, 65504, 65519.99, 65520, 1e38, 2.0**-14, 2.0**-24, 2.0**-25, 2.0**-26, 3 * 2.0**-25, np.inf, -np.inf]
    return np.concatenate([x, half_ties, bf16_ties, np.asarray(edges, np.float32)])


def main():
    rng = np.random.default_rng(3)
    x = floats(rng)
    with np.errstate(over="ignore"):
        half = x.astype(np.float16).view(np.uint16)
    bf16 = gguf.quants.quantize(x, gguf.GGMLQuantizationType.BF16).view(np.uint16)
    result = {name: blocks(rng, name) for name in SCALES}
    result["conversions"] = {"float": bits(x), "half": half.tolist(), "bf16": bf16.tolist()}
    out = pathlib.Path(__file__).with_name("values.json")
    out.write_text(json.dumps(result, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
