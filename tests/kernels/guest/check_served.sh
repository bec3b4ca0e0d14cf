#!/bin/sh
# The daemon serves over the loopback device what this kernel's /proc says, and ends when told to.
set -u
. /guest/page.sh

URL=http://127.0.0.1:19256

# What is read beside the cycle is in the next one.
settled() {
    kill -0 $daemon || { echo "FAIL the daemon is gone"; exit 1; }
    wget -q -O $PAGE $URL/metrics && [ "$(value_of proctally_snapshots_total)" -ge 3 ]
}

start_sleepers
proctallyd --config.file=$CONFIG --collector.interval=1s &
daemon=$!
trap 'kill -KILL $daemon 2>/dev/null; end_sleepers' EXIT
wait_until settled
check_gauges
expect 'proctally_snapshot_failures_total{reason="procfs"}' 0
kill -TERM $daemon
wait $daemon
status=$?
[ $status -eq 0 ] || fault "the daemon ended with $status"
finish
