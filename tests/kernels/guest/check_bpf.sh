#!/bin/sh
# The daemon has its programs loaded into this kernel: of processes that do nothing it says what /proc
# says, and of those that come and go between two looks all that they did, and how they ended.
set -u
. /guest/page.sh
. /guest/daemon.sh

readonly N=30
readonly BRIEF=brief.service
readonly BRIEF_PLACE=/sys/fs/cgroup/system.slice/$BRIEF

# What each does, as bpf_child has it: each thread that ends writes 8192 bytes in 2 calls. They are in
# their control group from the fork on, for who is seen before an exec stays where it was seen. The
# shell is to write nothing itself: of those that a signal ended it would tell.
readonly RUN='kill -STOP $$
    i=0
    while [ $i -lt '$N' ]; do
        bpf_child write=40960 ended=2 exit=0 &
        bpf_child write=4096 exit=3 &
        bpf_child write=8192 signal=9 &
        bpf_child signal=15 &
        i=$((i + 1))
    done
    wait'

brief() {
    expect "proctally_group_$1{group=\"$BRIEF\"${3:+,$3}}" "$2"
}

shell_is_seen() {
    get_page && [ "$(value_of "proctally_group_processes{group=\"$BRIEF\"}")" = 1 ]
}

all_are_gone() {
    get_page && [ "$(value_of "proctally_group_processes{group=\"$BRIEF\"}")" = 0 ]
}

run_brief() {
    local shell
    mkdir -p $BRIEF_PLACE
    sh -c "$RUN" 2>&- &
    shell=$!
    echo $shell >$BRIEF_PLACE/cgroup.procs
    wait_until shell_is_seen
    wait_until in_state $shell T
    kill -CONT $shell
    wait $shell
    wait_until all_are_gone
    # None comes twice.
    settle 2
    rmdir $BRIEF_PLACE
}

check_brief() {
    brief exited_total $((N + 1)) 'reason="success"'
    brief exited_total $N 'reason="failure"'
    brief exited_total $N 'reason="killed"'
    brief exited_total $N 'reason="terminated"'
    brief exited_total 0 'reason="unknown"'
    brief syscall_written_bytes_total $((N * (40960 + 2 * 8192 + 4096 + 8192)))
    brief write_syscalls_total $((N * (10 + 2 * 2 + 1 + 2)))
    expect proctally_lost_end_records_total 0
}

configure bpf
start_sleepers
trap 'end_daemon; end_sleepers' EXIT
start_daemon
settle 2
wait_until all_is_read
check_gauges
run_brief
check_brief
expect 'proctally_snapshot_failures_total{reason="procfs"}' 0
stop_daemon
[ -z "$faults" ] || grep "$BRIEF" $PAGE
finish
