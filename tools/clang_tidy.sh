#!/usr/bin/env bash
# clang-tidy over the C++ files changed since the upstream branch (or the last commit), or over all with --all.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
if [ "${1:-}" = --all ]; then
  mapfile -t files < <(git ls-files 'src/*.cpp' 'apps/*.cpp')
else
  base=$(git rev-parse -q --verify '@{upstream}' || git rev-parse -q --verify 'HEAD~1' || git rev-parse HEAD)
  mapfile -t files < <(git diff --name-only --diff-filter=d "$base" -- 'src/*.cpp' 'apps/*.cpp')
fi
[ "${#files[@]}" -eq 0 ] && exit 0
{ printf '%s\n' "${files[@]}" | grep -v '/kernels/' || true; } | xargs -r -P2 -n4 clang-tidy-16 -p build/release --quiet \
  --extra-arg=-Wno-unknown-warning-option  # gcc's names
