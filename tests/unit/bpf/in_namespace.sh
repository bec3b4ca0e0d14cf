#!/bin/sh
# Runs a test as the first process of a pid namespace, where pids are others than the kernel's own.
if [ "$(unshare --pid --fork --mount-proc sh -c 'echo $$' 2>/dev/null)" != 1 ]; then
  echo "skipped: no pid namespace can be made"
  exit 77
fi
# What the host's process 1 is shown to, it does not show inside.
if "$1" --hides; then
  export PROCTALLY_TEST_HIDES=yes
fi
exec unshare --pid --fork --mount-proc --kill-child "$1"
