#!/bin/sh
# As its service runs it: nobody with two capabilities, and 32 MiB that it may lock, as which kernels
# before 5.11 count the programs and their maps. Both are had then; with less to lock they are not,
# and the daemon says what to raise.
set -u
. /guest/page.sh
. /guest/daemon.sh

readonly TWO=-all,+bpf,+perfmon

# as_service KIB COMMAND...: with so much to lock.
as_service() {
    ulimit -l $1
    shift
    exec setpriv.util-linux --reuid=65534 --regid=65534 --clear-groups --no-new-privs \
        --inh-caps=$TWO --ambient-caps=$TWO --bounding-set=$TWO -- "$@"
}

trap end_daemon EXIT
configure auto
start_daemon as_service 32768
settle 2
expect 'proctally_source_info{source="bpf",reason="self_test_passed"}' 1
stop_daemon

if ! kernel_is 5 11; then
    start_daemon as_service 64
    settle 1
    expect 'proctally_source_info{source="procfs",reason="not_permitted"}' 1
    grep -q 'the limit of locked memory' $LOG || fault "it says $(cat $LOG)"
    stop_daemon
fi
finish
