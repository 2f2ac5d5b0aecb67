# Runs when all packages are installed, as root of the build's namespace: $1 is the root file system.
# CLOCHE_WORK has the files written for this build; CLOCHE_KERNEL_PACKAGE names the kernel's package.
set -eu
umask 022
root=$1

# The kernel is only unpacked: installing it would build an initrd of Debian's and install what that needs.
echo "cloche: fetching the kernel"
mkdir -p "$CLOCHE_WORK/kernel"
cd "$CLOCHE_WORK/kernel"
package=$(APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-cache depends --important "$CLOCHE_KERNEL_PACKAGE" |
    sed -n 's/^ *Depends: \(linux-image-.*\)$/\1/p' | head -n 1)
[ -n "$package" ] || { echo "cloche: the mirror has no package $CLOCHE_KERNEL_PACKAGE" >&2; exit 1; }
APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get -qq -o APT::Sandbox::User=root download "$package"
dpkg-deb --extract linux-image-*.deb .
rm -f linux-image-*.deb
if [ -n "$(find lib usr/lib -name '*.ko.zst' -print -quit 2>/dev/null)" ]; then
    find lib usr/lib -name '*.ko.zst' -exec zstd -dq --rm '{}' + 2>/dev/null ||
        { echo "cloche: the kernel's modules are compressed with zstd; install the package zstd" >&2; exit 1; }
fi

# When the mirror was last changed: nothing in the packages is younger, whenever the build happens.
newest=0
for release in "$root"/var/lib/apt/lists/*Release; do
    date=$(sed -n 's/^Date: //p' "$release" | head -n 1)
    seconds=$(date -d "$date" +%s 2>/dev/null || echo 0)
    [ "$seconds" -le "$newest" ] || newest=$seconds
done
echo "$newest" >"$CLOCHE_WORK/epoch"

echo "cloche: customizing"
rm -f "$root/etc/apt/apt.conf.d/00cloche-host" "$root/etc/apt/auth.conf.d/00cloche-host.conf"
mkdir -p "$root/cloche-build"
cp "$CLOCHE_WORK/inside/"* "$root/cloche-build/"
# SAFETY: everything from here on happens inside: an absolute symbolic link in a package or in a recipe's
# files can not lead a copy or a removal out of the new root file system.
chroot "$root" /bin/sh -eu /cloche-build/inside.sh
rm -rf "$root/cloche-build"
