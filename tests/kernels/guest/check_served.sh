#!/bin/sh
# The daemon serves over the loopback device what this kernel's /proc says, and ends when told to.
set -u
. /guest/page.sh
. /guest/daemon.sh

configure procfs
start_sleepers
trap 'end_daemon; end_sleepers' EXIT
start_daemon
settle 2
wait_until all_is_read
check_gauges
expect 'proctally_snapshot_failures_total{reason="procfs"}' 0
stop_daemon
finish
