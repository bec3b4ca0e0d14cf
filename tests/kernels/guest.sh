#!/bin/bash
# guest.sh MANIFEST ROOT INITRAMFS - makes the file system that a guest has, and its archive.
#
# It is all in memory: busybox, the script that becomes process 1, and what MANIFEST says, one a
# line: a kind, a name and a path with tabs in between, `-` where there is none.
#
#     unit, check, program   are run in the guest, in this order, as /programs/NAME
#     command                is there as /bin/NAME
#     library                is loaded by its name alone, or by no name that ldd sees
#     tree                   is at the path it has here: the guest's tests know that one
#
# Programs bring the libraries that they are linked to.
#
# Ends with 77 and a reason where this cannot be done.
set -euo pipefail
export LC_ALL=C

readonly MANIFEST=$1 ROOT=$2 INITRAMFS=$3
GUEST="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)/guest"
readonly GUEST
readonly PROGRAMS=$ROOT/programs

skip() {
  echo "skipped: $*" >&2
  exit 77
}

fail() {
  echo "guest: $*" >&2
  exit 1
}

# Copies a file to the path it has here.
copy_as_is() {
  [ ! -e "$ROOT$1" ] || return 0
  mkdir -p "$ROOT$(dirname -- "$1")"
  cp -rL "$1" "$ROOT$1"
}

# The paths of the libraries of an executable, and of what loads them. A static one has none.
libraries() {
  local said
  said=$(ldd "$1" 2>&1) || {
    [[ $said == *"not a dynamic executable"* ]] && return
    fail "ldd $1: $said"
  }
  [[ $said != *"not found"* ]] || fail "a library of $1 is missing: $said"
  sed -n 's/^[[:space:]]*\(.* => \)\?\(\/.*\) (0x[0-9a-f]*)$/\2/p' <<<"$said"
}

# add PATH PLACE: an executable without what only debuggers read, and its libraries.
add() {
  local library
  mkdir -p "$(dirname -- "$2")"
  if [[ $(head -c 4 "$1" | tr -d '\0') == $'\x7fELF' ]]; then
    strip --strip-debug -o "$2" "$1"
    libraries "$1" | while IFS= read -r library; do
      copy_as_is "$library"
    done
  else
    cp "$1" "$2"
  fi
  chmod 755 "$2"
}

add_library() {
  local path
  path=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p |
    sed -n "s/^[[:space:]]*${1//./\\.} (libc6,x86-64.* => //p" | head -n 1)
  [ -n "$path" ] || skip "needs $1"
  copy_as_is "$path"
}

add_manifest() {
  local kind name path
  while IFS=$'\t' read -r kind name path; do
    case $kind in
    unit | check | program)
      add "$path" "$PROGRAMS/$name"
      echo "$name" >>"$PROGRAMS/list"
      ;;
    command) add "$path" "$ROOT/bin/$name" ;;
    library) add_library "$name" ;;
    tree) copy_as_is "$path" ;;
    *) fail "$MANIFEST: $kind is no kind" ;;
    esac
  done <"$MANIFEST"
}

# Users that tests look up and become, and where libraries are.
add_settings() {
  mkdir -p "$ROOT/etc" "$ROOT/root"
  printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n' >"$ROOT/etc/passwd"
  printf 'root:x:0:\nnogroup:x:65534:\n' >"$ROOT/etc/group"
  printf '127.0.0.1 localhost\n' >"$ROOT/etc/hosts"
  [ ! -e /etc/ld.so.cache ] || cp /etc/ld.so.cache "$ROOT/etc/ld.so.cache"
}

for tool in busybox cpio ldd strip; do
  command -v "$tool" >/dev/null || skip "needs $tool"
done
rm -rf "$ROOT"
mkdir -p "$PROGRAMS"
add "$(command -v busybox)" "$ROOT/bin/busybox"
cp -r "$GUEST" "$ROOT/guest"
install -m 755 "$GUEST/init" "$ROOT/init"
add_manifest
add_settings
# Not packed: the kernel would take longer to unpack it than the machine to load it.
(cd "$ROOT" && find . -print0 | cpio --quiet --null --create --format=newc --owner=0:0) >"$INITRAMFS"
