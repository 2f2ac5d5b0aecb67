#!/bin/bash
# Installs what draws PNG files: chromium, fonts, pngquant. Nothing else in this checkout needs them.
#
# Rule: pictures are worth no error. Where they cannot be had, one line says so, and there are SVG files only.
set -euo pipefail

packages=()
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || packages+=(chromium)
command -v pngquant >/dev/null || packages+=(pngquant)
[ -d /usr/share/fonts/truetype/firacode ] || packages+=(fonts-firacode)
[ -d /usr/share/fonts/truetype/dejavu ] || packages+=(fonts-dejavu-core)
[ -e /usr/share/fonts/truetype/noto/NotoColorEmoji.ttf ] || packages+=(fonts-noto-color-emoji)
[ ${#packages[@]} -gt 0 ] || exit 0

say() { printf 'screenshots: %s\n' "$*" >&2; }
without() { say "$*, so PNG files are left out or look otherwise; to have them: apt-get install --no-install-recommends ${packages[*]}"; exit 0; }

say "for PNG files these system packages are missing: ${packages[*]}"
command -v apt-get >/dev/null || without "there is no apt-get here"
administrator=()
if [ "$(id -u)" != 0 ]; then
  { command -v sudo >/dev/null && sudo -n true 2>/dev/null; } || without "installing them takes root"
  administrator=(sudo)
fi
# SAFETY: this runs as root; the package names are the constants above, and the options are fixed.
command=("${administrator[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=300)
"${command[@]}" install "${packages[@]}" >/dev/null 2>&1 ||
  { "${command[@]}" update >/dev/null 2>&1 && "${command[@]}" install "${packages[@]}" >/dev/null 2>&1; } ||
  without "apt-get failed"
