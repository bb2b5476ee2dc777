#!/usr/bin/env bash
# Formats all C++ files, or with --check fails when one is not formatted.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
mapfile -t files < <(git ls-files '*.h' '*.cpp')
if [ "${1:-}" = --check ]; then clang-format-16 --dry-run --Werror "${files[@]}"; else clang-format-16 -i "${files[@]}"; fi
