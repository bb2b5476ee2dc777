#!/usr/bin/env python3
"""Write tiny random models as Hugging Face folders (two also as GGUF) and what HF transformers computes with them.

Needs PyPI torch, transformers, safetensors, gguf, numpy. expected.json: model -> {"tokens", "logprobs" (float32, [T][V]),
"bf16_error": transformers' own largest log-probability error when it runs in BF16, for BF16 models}.
"""
import json
import pathlib
import shutil

import gguf
import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

HERE = pathlib.Path(__file__).parent
VOCAB, TOKENS = 96, 24
SIZES = dict(vocab_size=VOCAB, hidden_size=32, intermediate_size=64, num_hidden_layers=2, rms_norm_eps=1e-6,
             max_position_embeddings=256, bos_token_id=1, eos_token_id=2)
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
LINEAR = {"rope_type": "linear", "factor": 2.0}
MODELS = {
    "qwen3": (Qwen3Config, Qwen3ForCausalLM, torch.float32, dict(num_attention_heads=4, num_key_value_heads=2, head_dim=16)),
    "qwen3_tied_gqa8_bf16": (Qwen3Config, Qwen3ForCausalLM, torch.bfloat16,
                             dict(num_attention_heads=8, num_key_value_heads=1, head_dim=16, tie_word_embeddings=True)),
    "qwen3_yarn": (Qwen3Config, Qwen3ForCausalLM, torch.float32,
                   dict(num_attention_heads=2, num_key_value_heads=2, head_dim=32, rope=YARN)),
    "qwen2": (Qwen2Config, Qwen2ForCausalLM, torch.float32, dict(num_attention_heads=2, num_key_value_heads=1)),
    "qwen2_tied_bf16": (Qwen2Config, Qwen2ForCausalLM, torch.bfloat16,
                        dict(num_attention_heads=2, num_key_value_heads=2, tie_word_embeddings=True)),
    "llama": (LlamaConfig, LlamaForCausalLM, torch.float32, dict(num_attention_heads=2, num_key_value_heads=1)),
    "llama_llama3": (LlamaConfig, LlamaForCausalLM, torch.float32,
                     dict(num_attention_heads=2, num_key_value_heads=1, head_dim=32, rope=LLAMA3)),
    "llama_linear": (LlamaConfig, LlamaForCausalLM, torch.float32,
                     dict(num_attention_heads=2, num_key_value_heads=2, head_dim=16, rope=LINEAR)),
}
PARTS = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


def build(name):
    config_class, model_class, dtype, options = MODELS[name]
    options = dict(options)
    rope = {"rope_theta": 10000.0, **options.pop("rope", {"rope_type": "default"})}
    config = config_class(**SIZES, **{"tie_word_embeddings": False, **options}, rope_parameters=rope)
    torch.manual_seed(len(name) * 100 + 7)
    model = model_class(config)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            spread = 0.3 if "norm" not in key else 0.1
            parameter.copy_(torch.randn_like(parameter) * spread + (1.0 if "norm" in key and "proj" not in key else 0.0))
    return model.eval().to(dtype), config


def logprobs(model, tokens):
    with torch.no_grad():
        return torch.log_softmax(model(torch.tensor([tokens])).logits[0].float(), -1).numpy()


def write_gguf(path, model, config, arch):
    heads, kv = config.num_attention_heads, config.num_key_value_heads
    w = gguf.GGUFWriter(path, arch)
    w.add_block_count(config.num_hidden_layers)
    w.add_context_length(config.max_position_embeddings)
    w.add_embedding_length(config.hidden_size)
    w.add_feed_forward_length(config.intermediate_size)
    w.add_head_count(heads)
    w.add_head_count_kv(kv)
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // heads
    w.add_key_length(head_dim)
    w.add_value_length(head_dim)
    w.add_layer_norm_rms_eps(config.rms_norm_eps)
    w.add_rope_freq_base(10000.0)
    w.add_vocab_size(VOCAB)
    for key, value in model.state_dict().items():
        array = value.float().numpy()
        if key.startswith("model.layers."):
            _, _, layer, part = key.split(".", 3)
            part, kind = part.rsplit(".", 1)
            if arch == "llama" and part in ("self_attn.q_proj", "self_attn.k_proj"):
                # As llama.cpp's converter: the two rows of a rotary pair become neighbours.
                n = heads if part.endswith("q_proj") else kv
                array = array.reshape(n, 2, array.shape[0] // n // 2, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape)
            name = f"blk.{layer}.{PARTS[part]}.{kind}"
        else:
            name = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight", "lm_head.weight": "output.weight"}[key]
        w.add_tensor(name, np.ascontiguousarray(array))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def main():
    expected = {}
    rng = np.random.default_rng(3)
    for name, (_, _, dtype, _) in MODELS.items():
        model, config = build(name)
        tokens = [int(t) for t in rng.integers(3, VOCAB, TOKENS)]
        folder = HERE / name
        shutil.rmtree(folder, ignore_errors=True)
        model.save_pretrained(folder)
        (folder / "generation_config.json").unlink(missing_ok=True)
        entry = {"tokens": tokens}
        if dtype == torch.bfloat16:
            low = logprobs(model, tokens)
            exact = logprobs(model.float(), tokens)
            entry["bf16_error"] = float(np.abs(low - exact).max())
        else:
            exact = logprobs(model, tokens)
        entry["logprobs"] = [[round(float(x), 5) for x in row] for row in exact]
        expected[name] = entry
        if name in ("qwen3", "llama"):
            write_gguf(str(HERE / f"{name}.gguf"), model, config, name)
    (HERE / "expected.json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main()
