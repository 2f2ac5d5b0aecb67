# Runs inside the new root file system as root. /cloche-build has files.tar, run.sh, image.json, sources.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
here=/cloche-build
umask 022

if ! grep -q '^user:' /etc/passwd; then
    echo 'user:x:1000:1000:user:/home/user:/bin/bash' >>/etc/passwd
    echo 'user:x:1000:' >>/etc/group
    echo 'user:!:20000:0:99999:7:::' >>/etc/shadow
    [ ! -e /etc/gshadow ] || echo 'user:!::' >>/etc/gshadow
    mkdir -p /home/user
    cp -R /etc/skel/. /home/user/
fi

# A recipe's own steps come before the cleaning, so that they may use apt and the network;
# each is printed before it runs, so that a failure shows which one it was.
tar --extract --keep-directory-symlink --no-overwrite-dir --file "$here/files.tar" --directory /
/bin/sh -eux "$here/run.sh"

mkdir -p /etc/cloche
install -m 644 "$here/image.json" /etc/cloche/image.json
rm -rf /etc/apt/sources.list /etc/apt/sources.list.d
[ ! -s "$here/sources" ] || { mkdir -p /etc/apt/sources.list.d; install -m 644 "$here/sources" /etc/apt/sources.list.d/debian.sources; }
echo cloche >/etc/hostname
printf '127.0.0.1\tlocalhost\n127.0.1.1\tcloche\n::1\tlocalhost ip6-localhost ip6-loopback\n' >/etc/hosts
: >/etc/resolv.conf
: >/etc/machine-id
# Some come from the host, with the modes they have there.
chmod 644 /etc/hostname /etc/hosts /etc/resolv.conf /etc/machine-id
# The date a password was last changed is the date of the build.
sed -i 's/^\([^:]*:[^:]*\):[0-9]*:/\1:20000:/' /etc/shadow
# SAFETY: password hashes are for root and the programs of group shadow. Without the package passwd nobody has seen to it.
for file in /etc/shadow /etc/gshadow; do
    [ ! -e "$file" ] || { chown root:shadow "$file"; chmod 640 "$file"; }
done
rm -f /etc/passwd- /etc/group- /etc/shadow- /etc/gshadow- /etc/subuid- /etc/subgid-

# What dpkg was told to leave out is still there from packages unpacked before it was told.
for folder in doc man locale info lintian bug i18n; do
    rm -rf "/usr/share/$folder"
done
rm -rf /var/cache/apt /var/cache/debconf/*-old /var/cache/ldconfig/aux-cache /var/lib/dpkg/*-old
rm -rf /root/.cache /home/user/.cache
find /var/log -type f -delete
# mmdebstrap keeps apt's settings for its own cleaning in /tmp, and removes them itself.
find /tmp /var/tmp -mindepth 1 ! -name 'mmdebstrap.*' -delete
mkdir -p /var/cache/apt/archives/partial
chown -R 1000:1000 /home/user
