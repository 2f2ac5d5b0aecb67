# Turns the root file system at CLOCHE_WORK/root into an ext4 file and removes it.
# $1: size; $2: the newest time a file may have; $3: UUID of the file system and of its directory hashes.
set -eu
root=$CLOCHE_WORK/root
cp -R "$CLOCHE_WORK/modules/." "$root/"
# Every machine has its own /dev; what the build left there depends on who built.
find "$root/dev" "$root/proc" "$root/sys" "$root/run" -mindepth 1 -delete
find "$root" -newermt "@$2" -exec touch --no-dereference --date "@$2" '{}' +
# Times the host sets by itself; mke2fs would copy them.
export E2FSPROGS_FAKE_TIME="$2" SOURCE_DATE_EPOCH="$2"
# The file is new, so it is all zeros: saying so keeps inode tables and journal unwritten, and keeps
# the guest's kernel from writing them later.
mke2fs -q -F -t ext4 -b 4096 -m 0 -J size=16 -L cloche -U "$3" \
    -E "hash_seed=$3,lazy_itable_init=0,assume_storage_prezeroed=1,root_owner=0:0" \
    -d "$root" "$CLOCHE_WORK/rootfs.ext4" "$1"
rm -rf "$root"
