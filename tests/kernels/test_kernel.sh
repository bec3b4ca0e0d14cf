#!/bin/bash
# test_kernel.sh VERSION RELEASE MANIFEST DIRECTORY PYTHON - Debian's kernel VERSION, booted with the
# manifest's programs, which have to succeed there.
#
# Works in DIRECTORY, where what the guest said is left. Kernels are kept beside it, or in
# $XDG_CACHE_HOME/proctally/kernels. Ends with 77 and a reason where this cannot be done.
set -euo pipefail

readonly VERSION=$1 RELEASE=$2 MANIFEST=$3 DIRECTORY=$4 PYTHON=$5
readonly CACHE=${XDG_CACHE_HOME:+$XDG_CACHE_HOME/proctally/kernels}
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

skip() {
  echo "skipped: kernel $VERSION: $*"
  exit 77
}

[ "$(uname -m)" = x86_64 ] || skip "what is built here does not run on it: it is for x86_64"
for tool in qemu-system-x86_64 setpriv; do
  command -v "$tool" >/dev/null || skip "needs $tool"
done

mkdir -p "$DIRECTORY"
trap 'rm -rf "$DIRECTORY/root" "$DIRECTORY/initramfs"' EXIT
kernel=$("$here/kernel.sh" "$VERSION" "$RELEASE" "${CACHE:-$DIRECTORY/../cache}")
"$here/guest.sh" "$MANIFEST" "$DIRECTORY/root" "$DIRECTORY/initramfs"
"$PYTHON" -B "$here/boot.py" "$VERSION" "$kernel" "$DIRECTORY/initramfs" "$MANIFEST" "$DIRECTORY"
