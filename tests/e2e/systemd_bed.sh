#!/bin/bash
# systemd_bed.sh BUILD COMMAND... - runs COMMAND beside a booted systemd that has BUILD installed.
#
# The system is this machine's own, seen through an overlay of / that is thrown away, in a
# container; BED_LOWER names the root of another one, to try its systemd, and BED_NSPAWN has more
# flags for systemd-nspawn. COMMAND gets BED_LEADER, the container's init, to enter by nsenter(1),
# and BED_ROOT, its root directory. All of it lives in mount and process namespaces of its own: when
# this script goes, in whichever way, the kernel takes the processes and mounts with it.
#
# Ends as COMMAND does, or with 77 and a reason where this cannot be done.
set -euo pipefail

readonly BED=/run/proctally-bed
readonly LOCK=/run/proctally-bed.lock

skip() {
  echo "skipped: $*"
  exit 77
}

check_host() {
  local tool
  [ "$(id -u)" -eq 0 ] || skip "needs root"
  for tool in systemd-nspawn nsenter unshare flock cmake; do
    command -v "$tool" >/dev/null || skip "needs $tool"
  done
  unshare --mount --pid --fork true 2>/dev/null || skip "no namespaces can be made here"
  grep -qw overlay /proc/filesystems || modprobe overlay 2>/dev/null || skip "needs overlayfs"
}

build_root() {
  local build=$1
  mount -t tmpfs -o size=512M,mode=755 bed "$BED" || skip "no tmpfs can be mounted here"
  mkdir "$BED"/{up,work,tree}
  mount -t overlay -o "lowerdir=${BED_LOWER:-/},upperdir=$BED/up,workdir=$BED/work" overlay "$BED/tree" ||
    skip "no overlay of / can be mounted here"
  # Nothing of this machine's own services: only what systemd itself brings.
  rm -rf "$BED"/tree/etc/systemd/system/*.wants "$BED"/tree/etc/systemd/system/*.requires
  rm -rf "$BED"/tree/run/* "$BED/tree/etc/proctally"
  rm -rf "$BED"/tree/{etc,lib,usr/lib}/systemd/system/proctallyd*
  mkdir -p "$BED/tree/etc/systemd/system" "$BED/tree/bed"
  DESTDIR="$BED/tree" cmake --install "$build" >"$BED/install.log" || {
    cat "$BED/install.log"
    exit 1
  }
}

boot() {
  local nspawn i state= flags
  read -ra flags <<<"${BED_NSPAWN-}"
  SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 systemd-nspawn -q -D "$BED/tree" -M proctally-bed \
    --register=no --keep-unit --private-network -b --console=pipe "${flags[@]}" \
    </dev/null >"$BED/boot.log" 2>&1 &
  nspawn=$!
  for i in {1..600}; do
    kill -0 "$nspawn" 2>/dev/null || break
    # Its first child only makes the container, the next one becomes init.
    leader=$(pgrep -P "$nspawn" | tail -n 1) || true
    state=$(nsenter -t "${leader:-0}" -a systemctl is-system-running 2>/dev/null) || true
    case $state in running | degraded) return ;; esac
    sleep 0.1
  done
  cat "$BED/boot.log"
  [ -n "$state" ] || skip "systemd-nspawn cannot boot a container here"
  echo "systemd did not come up in the container: $state"
  exit 1
}

# Empty groups would stay behind where the container's init was killed.
remove_groups() {
  find /sys/fs/cgroup{,/unified,/systemd}/{payload,supervisor} -depth -type d \
    -exec rmdir {} \; 2>/dev/null || true
}

leader=
clean() {
  local i
  if [ -n "$leader" ]; then
    kill -s RTMIN+4 "$leader" 2>/dev/null || true
    for i in {1..50}; do
      kill -0 "$leader" 2>/dev/null || break
      sleep 0.1
    done
    kill -s KILL "$leader" 2>/dev/null || true
  fi
  umount -l "$BED/tree" "$BED" 2>/dev/null || true
  remove_groups
}

if [ -z "${BED_INSIDE-}" ]; then
  check_host
  mkdir -p "$BED"
  # One at a time: the container's control groups have fixed names.
  exec env BED_INSIDE=1 flock --no-fork "$LOCK" \
    unshare --mount --pid --fork --kill-child --mount-proc "$0" "$@"
fi

trap clean EXIT
trap 'exit 1' INT TERM HUP
build=$1
shift
build_root "$build"
boot
BED_LEADER=$leader BED_ROOT=$BED/tree "$@"
