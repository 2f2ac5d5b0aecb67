# Turns the root file system at CLOCHE_WORK/root into an ext4 file and removes it.
# $1: size; $2: the newest time a file may have; $3: UUID of the file system and of its directory hashes.
set -eu
umask 022
root=$CLOCHE_WORK/root
# The hub's umask lets nobody else read them; the guest's users may.
chmod -R u=rwX,go=rX "$CLOCHE_WORK/modules"
cp -R "$CLOCHE_WORK/modules/." "$root/"
# Apt ran as root where its own user may not enter the work folder. Inside, so that no link leads out.
chroot "$root" /bin/sh -c 'for folder in /var/lib/apt/lists/partial /var/cache/apt/archives/partial; do
    [ ! -d "$folder" ] || ! grep -q "^_apt:" /etc/passwd || chown _apt:root "$folder"
done'
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

# mke2fs copies the times of reading and of change, which nobody can set on the host: they are set in the file.
# Inodes are given out in order, so the used ones are 2 (the root) and 11 up to their number.
used=$(dumpe2fs -h "$CLOCHE_WORK/rootfs.ext4" 2>/dev/null |
    awk -F: '/^Inode count/ { count = $2 } /^Free inodes/ { free = $2 } END { print count - free }')
for inode in 2 $(seq 11 "$used"); do
    for time in atime ctime; do
        printf 'set_inode_field <%s> %s @%s\nset_inode_field <%s> %s_extra 0\n' "$inode" "$time" "$2" "$inode" "$time"
    done
done >"$CLOCHE_WORK/times"
debugfs -w -f "$CLOCHE_WORK/times" "$CLOCHE_WORK/rootfs.ext4" >/dev/null

rm -rf "$root"
