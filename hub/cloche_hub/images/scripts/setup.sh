# Runs before anything is downloaded, as root of the build's namespace: $1 is the empty root file system.
# CLOCHE_WORK has the files written for this build.
set -eu
umask 022
mkdir -p "$1/etc/dpkg/dpkg.cfg.d" "$1/etc/apt/apt.conf.d" "$1/etc/apt/auth.conf.d"
cp "$CLOCHE_WORK/dpkg.cfg" "$1/etc/dpkg/dpkg.cfg.d/cloche"
# What the hub wrote is for its own eyes; the guest's users run dpkg, too.
chmod 644 "$1/etc/dpkg/dpkg.cfg.d/cloche"
# How this host's apt reaches its mirrors; removed again by customize.sh.
cp "$CLOCHE_WORK/apt.conf" "$1/etc/apt/apt.conf.d/00cloche-host"
cp "$CLOCHE_WORK/auth.conf" "$1/etc/apt/auth.conf.d/00cloche-host.conf"
