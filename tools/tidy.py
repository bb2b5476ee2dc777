#!/usr/bin/env python3
"""The house rules that a compiler cannot check, as a test. Prints one line per breach; exit 1 when there is any.

Sizes, the dependency table, banned calls, dead headers, and the exported symbols of kernel objects.
Usage: tidy.py [ROOT]   (kernel objects are looked for under ROOT/build/release)
"""
import pathlib
import re
import subprocess
import sys

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
KERNEL_LINES_MAX = 120
LINE_COLUMNS_MAX = 110
FOLDER_FILES_MAX = 40

# Folder -> folders whose headers it may include (itself and base always). The same table stands in CMakeLists.txt.
MAY_INCLUDE = {
    "base": set(),
    "http": set(),
    "text": set(),
    "sampling": set(),
    "kvcache": set(),
    "api": {"text", "sampling"},
    "backend": {"sampling"},
    "store": set(),
    "weights": {"backend"},
    "model": {"backend", "weights", "sampling"},
    "engine": {"model", "kvcache", "sampling", "backend"},
    "server": {"http", "api", "text", "sampling", "kvcache", "backend", "store", "weights", "model", "engine"},
    "apps": {"http", "api", "text", "sampling", "kvcache", "backend", "store", "weights", "model", "engine", "server"},
}

# Pattern, where it is allowed (path regex), what to do instead.
BANNED = [
    (r"\bstd::cout\b|\bprintf\(", r"^apps/|_test\.cpp$|^bench/|base/check\.cpp", "log::info, or print in apps/"),
    (r"(?<![\w:])new [A-Za-z_:]+[({<]", r"_test\.cpp$", "make_unique"),
    (r"\bsleep_for\b", r"_test\.cpp$", "wait on a condition or timer"),
    (r"\bgetenv\(", r"^apps/", "options in apps/"),
    (r"#include <regex>", r"^$", "a hand-written scanner (field report F005)"),
    (r"#include <boost/beast", r"^src/http/[^/]+\.cpp$", "the types of http/message.h"),
    (r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))", r"^tools/tidy", "TODO(#issue), or do it"),
    (r"-ffast-math", r"^$", "explicit FMA"),
]

# Files that may be longer, each with its reason.
EXEMPT_SIZE = {
    "src/text/tokenizer/unicode_tables.cpp": "generated data",
    "src/backend/backend.h": "the one interface of all operators",
}

FUNCTION_START = re.compile(r"^( {0,4})(?!namespace|class|struct|enum|if|for|while|switch|else|do|union|extern)\S.*\)"
                            r"[^;]*\{$")


def breach(path, line, text):
    return f"{path}:{line}: {text}"


def check_text(path, text):
    """Breaches of size, line length and banned calls in one C++ file."""
    lines = text.split("\n")
    if len(lines) - 1 > FILE_LINES_MAX and path not in EXEMPT_SIZE:
        yield breach(path, len(lines) - 1, f"file has {len(lines) - 1} lines, limit {FILE_LINES_MAX}: split it by idea")
    for number, line in enumerate(lines, 1):
        if len(line) > LINE_COLUMNS_MAX and path not in EXEMPT_SIZE and "R\"" not in line:
            yield breach(path, number, f"line has {len(line)} columns, limit {LINE_COLUMNS_MAX}")
        for pattern, allowed, instead in BANNED:
            if re.search(pattern, line) and not re.search(allowed, path):
                yield breach(path, number, f"banned: {line.strip()[:60]!r}; use {instead}")
    yield from check_functions(path, lines)


def check_functions(path, lines):
    limit = KERNEL_LINES_MAX if "/kernels/" in path else FUNCTION_LINES_MAX
    for start, line in enumerate(lines):
        match = FUNCTION_START.match(line)
        if not match or path.endswith("_test.cpp"):
            continue
        close = match.group(1) + "}"
        for end in range(start + 1, len(lines)):
            if lines[end].startswith(close):
                if end - start + 1 > limit:
                    yield breach(path, start + 1, f"function has {end - start + 1} lines, limit {limit}")
                break


def check_includes(path, text):
    """Breaches of the dependency table in one file."""
    parts = path.split("/")
    folder = parts[1] if parts[0] == "src" else parts[0]
    if folder not in MAY_INCLUDE:
        return
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r'#include "([a-z_]+)/', line)
        if match and match.group(1) in MAY_INCLUDE:
            target = match.group(1)
            if target not in MAY_INCLUDE[folder] | {folder, "base"}:
                yield breach(path, number, f"{folder} may not include {target}: see the dependency table")


def check_dead_headers(files):
    included = set()
    for text in files.values():
        included.update(re.findall(r'#include "([^"]+)"', text))
    for path in files:
        if path.startswith("src/") and path.endswith((".h", ".inc.h")) and path[4:] not in included:
            name = path.rsplit("/", 1)[1]
            if not any(other.rsplit("/", 1)[-1] == name for other in included):
                yield breach(path, 1, "no file includes this header")


def check_folders(files):
    counts = {}
    for path in files:
        if path.startswith("src/"):
            folder = path.rsplit("/", 1)[0]
            counts[folder] = counts.get(folder, 0) + 1
    for folder, count in counts.items():
        if count > FOLDER_FILES_MAX:
            yield breach(folder, 1, f"{count} files in one folder, limit {FOLDER_FILES_MAX}")


def check_kernel_symbols(root):
    """Each per-ISA object exports exactly one symbol and no weak one, so no newer instruction can leak."""
    for path in sorted((root / "build/release").glob("**/kernels/*.o")):
        if not re.search(r"(scalar|avx2|avx512)", path.name):
            continue
        out = subprocess.run(["nm", "--defined-only", str(path)], capture_output=True, text=True, check=True).stdout
        kinds = [line.split()[-2:] for line in out.splitlines()]
        exported = [name for kind, name in kinds if kind in "TDRBG"]
        weak = [name for kind, name in kinds if kind in "WVuw"]
        if len(exported) != 1 or weak:
            yield breach(path.name, 1, f"exports {exported}, weak {weak[:3]}: one symbol and no weak ones allowed")


def check_tree(root):
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout.split("\n")
    files = {}
    for path in listed:
        if path.endswith((".h", ".cpp")) and (root / path).is_file():
            files[path] = (root / path).read_text(encoding="utf-8")
    for path, text in files.items():
        yield from check_text(path, text)
        yield from check_includes(path, text)
    yield from check_dead_headers(files)
    yield from check_folders(files)
    yield from check_kernel_symbols(root)


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    breaches = list(check_tree(root))
    print("\n".join(breaches[:100]) if breaches else "tidy: no breach")
    sys.exit(1 if breaches else 0)


if __name__ == "__main__":
    main()
