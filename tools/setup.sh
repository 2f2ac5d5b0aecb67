#!/bin/bash
# Makes a checkout ready: system packages through apt, a virtual environment in .venv, the locked packages in it.
#
# Not a general installer: it serves people who work in a checkout.
# Rules: it names every system package before it installs one. It ends at once when nothing has changed. It may be
# interrupted anywhere and started again, and twice at a time. It runs before there is a virtual environment, with
# whatever python3 the machine has, so it is a shell script and needs nothing that a minimal Debian lacks.
#
#   PYTHON=python3.12 tools/setup.sh      makes the environment with that interpreter
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$root"
venv=$root/.venv
stamp=$venv/.made-by-setup
log=$root/build/setup.log

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$@"; exit 1; }

# --- what there is -----------------------------------------------------------------------------------------------

# Version and home of an interpreter: the same line for it and for an environment made with it.
identity_of() { "$1" -I -S -c 'import sys; print(sys.version.split()[0], "in", sys.base_prefix)' 2>/dev/null; }

is_supported() { "$1" -I -S -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; }

# The interpreter to use; without PYTHON, the first good one.
choose_python() {
  local candidates=(python3 python3.13 python3.12 python3.11) candidate found=""
  [ -z "${PYTHON:-}" ] || candidates=("$PYTHON")
  for candidate in "${candidates[@]}"; do
    if is_supported "$candidate"; then command -v "$candidate"; return; fi
    found=${found:-$(identity_of "$candidate" || true)}
  done
  fail "Cloche needs Python 3.11, 3.12 or 3.13; ${candidates[0]} is ${found:-not there}." \
    "Name another one: make setup PYTHON=/path/to/python3.12"
}

# What the environment is made from: a change of any of it means work to do.
inputs() { cat requirements.lock pyproject.toml tools/setup.sh | sha256sum; }

# Whether packages can be installed into .venv: it is whole, was made in this folder, and by a good interpreter.
venv_is_sound() {
  # pip is the last thing that goes into a new environment, and its first line names the folder.
  grep -qsF "$venv/bin/python" "$venv/bin/pip" || return 1
  is_supported "$venv/bin/python" || return 1
  "$venv/bin/python" -I -c 'import importlib.util as u, sys; sys.exit(not u.find_spec("pip"))' || return 1
  [ -z "${PYTHON:-}" ] || [ "$(identity_of "$PYTHON")" = "$(identity_of "$venv/bin/python")" ]
}

venv_is_current() { [ "$(cat "$stamp" 2>/dev/null)" = "$(inputs)" ] && venv_is_sound; }

# An ordinary user's PATH lacks the sbin folders on Debian.
has() { command -v "$1" >/dev/null || [ -x "/usr/sbin/$1" ] || [ -x "/sbin/$1" ]; }

# The initial RAM disk of a machine holds busybox and no libraries.
has_static_busybox() { has busybox && [[ $(ldd "$(command -v busybox)" 2>/dev/null) != *"=>"* ]]; }

missing_packages() {
  local arch; arch=$(uname -m)
  case $arch in
    x86_64) has qemu-system-x86_64 || echo qemu-system-x86 ;;
    aarch64) has qemu-system-aarch64 || echo qemu-system-arm ;;
    *) fail "Cloche runs on x86_64 and aarch64 hosts; this one is $arch." ;;
  esac
  has qemu-img || echo qemu-utils
  has mmdebstrap || echo mmdebstrap
  [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || echo debian-archive-keyring
  has mke2fs || echo e2fsprogs
  has_static_busybox || echo busybox-static
  has newuidmap || echo uidmap
  # A second opinion in the tests of the terminal emulator.
  has tmux || echo tmux
  venv_is_sound || "$1" -I -c 'import ensurepip, venv' 2>/dev/null || echo "$(package_of "$1")-venv"
}

# python3.11 for any of Debian's names of that interpreter: its venv module has a package of its own.
package_of() { "$1" -I -S -c 'import sys; print("python%d.%d" % sys.version_info[:2])'; }

# --- what to do --------------------------------------------------------------------------------------------------

# Runs a command with its output in the log; shows the end of it when the command fails.
logged() {
  "$@" >>"$log" 2>&1 || { tail -n 20 "$log" >&2; return 1; }
}

install_packages() {
  local command=(apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=300) administrator=()
  local ask="An administrator must run: apt-get install --no-install-recommends $*"
  say "these system packages are missing: $*"
  has apt-get || fail "this system has no apt-get to install them with; install what they are called here, then try again."
  if [ "$(id -u)" != 0 ]; then
    has sudo || fail "installing them takes root, and there is no sudo. $ask"
    administrator=(sudo)
    # Not `sudo -v`: that asks for a password even where the rules let commands run without one.
    sudo true || fail "installing them takes root, and sudo refused. $ask"
  fi
  say "installing them with apt-get, without recommended packages (log: ${log#"$root"/})"
  # SAFETY: this runs as root; the package names are the constants above, and the options are fixed.
  administrator+=(env DEBIAN_FRONTEND=noninteractive)
  # Package lists may be absent (a fresh image) or old (the named versions are gone): fetch them, then try once more.
  if ! apt-cache show --no-all-versions "$@" >/dev/null 2>&1 || ! "${administrator[@]}" "${command[@]}" install "$@" >>"$log" 2>&1; then
    logged "${administrator[@]}" "${command[@]}" update || fail "apt-get update failed. $ask"
    logged "${administrator[@]}" "${command[@]}" install "$@" || fail "apt-get install failed. $ask"
  fi
}

make_venv() {
  say "making .venv with $1 (Python $(identity_of "$1"))"
  # --clear: what is there may be half made, or belong to another interpreter or folder.
  logged "$1" -m venv --clear "$venv" || fail "could not make .venv (log: ${log#"$root"/})"
}

install_locked() {
  local pip=("$venv/bin/python" -m pip --disable-pip-version-check --no-input install)
  say "installing the locked packages"
  logged "${pip[@]}" --require-hashes --requirement requirements.lock || fail "pip failed (log: ${log#"$root"/})"
  # The build backend is among the locked packages: no unlocked one is fetched to build the project itself.
  logged "${pip[@]}" --no-deps --no-build-isolation --editable . || fail "pip failed (log: ${log#"$root"/})"
}

main() {
  local python packages
  if venv_is_sound; then python=$venv/bin/python; else python=$(choose_python); fi
  packages=$(missing_packages "$python")
  if [ -z "$packages" ] && venv_is_current; then return; fi
  mkdir -p "${log%/*}"
  : >"$log"
  # shellcheck disable=SC2086  # one word a package
  [ -z "$packages" ] || install_packages $packages
  if ! venv_is_current; then
    # The stamp stands for finished work: removed first, written last.
    rm -f "$stamp"
    venv_is_sound || make_venv "$python"
    install_locked
    inputs >"$stamp"
  fi
  say "ready after $SECONDS s"
}

# One at a time in a checkout; whoever waited finds the work done.
exec 9<"$root"
flock 9
main
