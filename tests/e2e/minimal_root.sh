#!/bin/bash
# From nothing: a fresh Debian 12 root with essential packages only, a fresh clone in a path with
# blanks, and the two commands of the README. Needs root and mmdebstrap, or a root made before in
# MINIMAL_ROOT, which is copied. Not part of ctest: it installs several hundred packages.
#
#     tests/e2e/minimal_root.sh [run|test|all]
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."

readonly WHAT=${1:-all} CLONE="/opt/proc tally" URL=http://127.0.0.1:19256/metrics
scratch=$(mktemp -d)
root=$scratch/root
daemon=

# shellcheck disable=SC2317
clean() {
  [ -z "$daemon" ] || kill -KILL "$daemon" 2>/dev/null || true
  umount "$root/proc" "$root/sys" 2>/dev/null || true
  rm -rf --one-file-system "$scratch"
}
trap clean EXIT

fail() { echo "minimal_root: $*" >&2; exit 1; }

mirror() {
  cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
    awk '/^URIs:/ { print $2; exit } /^deb / { for (i = 2; i <= NF; i++) if ($i ~ /:\/\//) { print $i; exit } }'
}

if [ -n "${MINIMAL_ROOT:-}" ]; then
  cp -a --one-file-system "$MINIMAL_ROOT" "$root"
else
  mmdebstrap --variant=minbase bookworm "$root" "$(mirror)"
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"
for conf in /etc/apt/apt.conf.d/*[Pp]roxy*; do
  [ -e "$conf" ] && cp "$conf" "$root/etc/apt/apt.conf.d/"
done
git clone -q --no-hardlinks . "$root$CLONE"
mount -t proc proc "$root/proc"
# Where the kernel describes its types.
mount -t sysfs -o ro sysfs "$root/sys"

in_root() {
  exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root CI=true \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
    "$CLONE/bootstrap" "$@" </dev/null
}

if [ "$WHAT" != test ]; then
  in_root run >"$scratch/run.log" 2>&1 &
  daemon=$!
  for ((i = 0; i < 600; i++)); do
    curl -sf -m 5 -o "$scratch/page" "$URL" && break
    kill -0 "$daemon" 2>/dev/null || { cat "$scratch/run.log"; fail "bootstrap run ended"; }
    sleep 1
  done
  grep -q '^proctally_up 1$' "$scratch/page" || fail "no page at $URL"
  grep -q "proctallyd serves $URL" "$scratch/run.log" || fail "the address is not printed"
  kill -TERM "$daemon"
  status=0
  wait "$daemon" || status=$?
  daemon=
  [ "$status" -eq 0 ] || fail "the daemon ended with $status"
  echo "minimal_root: bootstrap run serves after $i s"
fi

if [ "$WHAT" != run ]; then
  begin=$SECONDS
  (in_root test) >"$scratch/test.log" 2>&1 || { tail -n 200 "$scratch/test.log"; fail "bootstrap test failed"; }
  tail -n 1 "$scratch/test.log" | grep -Eq '^[0-9]+ passed, 0 failed, [0-9]+ skipped$' ||
    fail "the last line is no summary: $(tail -n 1 "$scratch/test.log")"
  echo "minimal_root: bootstrap test after $((SECONDS - begin)) s: $(tail -n 1 "$scratch/test.log")"
fi
