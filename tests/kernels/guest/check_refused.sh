#!/bin/sh
# Where the programs cannot be loaded the daemon says so in one line, and reads /proc; told to load
# them, it ends.
set -u
. /guest/page.sh
. /guest/daemon.sh

readonly CANNOT='the source bpf cannot be had'

# refused REASON TEXT [COMMAND...]: as that command runs the daemon.
refused() {
    local reason=$1 text=$2
    shift 2
    configure auto
    start_daemon "$@"
    settle 1
    expect "proctally_source_info{source=\"procfs\",reason=\"$reason\"}" 1
    [ "$(grep -c "$CANNOT.*$text" $LOG)" = 1 ] || fault "$reason: it says $(cat $LOG)"
    stop_daemon
    configure bpf
    "$@" timeout 30 proctallyd --config.file=$CONFIG 2>$LOG && fault "$reason: it goes on"
    [ "$(grep -c "$CANNOT: .*$text" $LOG)" = 1 ] || fault "$reason: asked for, it says $(cat $LOG)"
}

trap 'end_daemon; umount /sys/kernel/btf 2>/dev/null' EXIT
refused not_permitted 'it takes CAP_BPF and CAP_PERFMON' su -s /bin/env -- nobody
mount -t tmpfs tmpfs /sys/kernel/btf
refused no_btf 'the kernel does not describe itself'
finish
