# Sourced by ./run and ./test: installs what is missing and builds. Works as root or as a user with sudo.
# Expects `cd` to the repository root to have happened.

say() { printf '\033[1m==> %s\033[0m\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"
  else die "root is needed to install packages: run as root, or install sudo"; fi
}

install_packages() {
  local missing=() package
  while read -r package; do
    case "$package" in ''|'#'*) continue ;; esac
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done < tools/packages.txt
  [ "${#missing[@]}" -eq 0 ] && return
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# Objects are found again in another clone.
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1

# build PRESET [target...]
build() {
  local preset=$1; shift
  say "building ($preset) with $(nproc) cores"
  cmake --preset "$preset" >/dev/null
  if [ "$#" -gt 0 ]; then cmake --build --preset "$preset" --target "$@"; else cmake --build --preset "$preset"; fi
}

# A Python environment for tests and downloads; never used by the server.
python_environment() {
  if [ ! -x build/venv/bin/python ]; then
    say "making a Python environment in build/venv"
    python3 -m venv build/venv
  fi
  [ "$#" -eq 0 ] && return
  if ! cmp -s "$1" build/venv/installed.txt; then
    say "installing the pinned Python packages of $1"
    build/venv/bin/python -m pip install -q --disable-pip-version-check uv
    build/venv/bin/python -m uv pip install -q --python build/venv/bin/python -r "$1"
    cp "$1" build/venv/installed.txt
  fi
}
