#!/bin/sh
# Who is killed for its memory, by the limit of a control group of version 2, and who is killed by
# others. The tracepoint that tells has had other arguments since 6.8.
set -u
. /guest/page.sh
. /guest/daemon.sh

readonly N=3
readonly GREEDY=greedy.service
readonly GREEDY_PLACE=/sys/fs/cgroup/system.slice/$GREEDY

# They are in the control group from the fork on, for who is seen before is counted where it was, as
# their shell may be. It says what became of each.
readonly RUN='echo $$ >'$GREEDY_PLACE'/cgroup.procs
    i=0
    while [ $i -lt '$N' ]; do
        bpf_child anon=10000 exit=0
        echo $?
        bpf_child anon=100 signal=9
        echo $?
        i=$((i + 1))
    done'

exited() {
    expect "proctally_group_exited_total{group=\"$GREEDY\",reason=\"$1\"}" $2
}

all_are_gone() {
    get_page && [ "$(value_of "proctally_group_processes{group=\"$GREEDY\"}")" = 0 ]
}

mkdir -p /sys/fs/cgroup/system.slice
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
echo +memory >/sys/fs/cgroup/system.slice/cgroup.subtree_control
trap end_daemon EXIT
configure bpf
start_daemon
settle 1
# The daemon is told of it, so none of them has to live until it looks.
mkdir $GREEDY_PLACE
echo 16M >$GREEDY_PLACE/memory.max
statuses=$(sh -c "$RUN" 2>&- | tr '\n' ' ')
[ "$statuses" = '137 137 137 137 137 137 ' ] || fault "they ended with $statuses"
wait_until all_are_gone
settle 2
exited oom $N
exited killed $N
grep -q "^oom_kill $N\$" $GREEDY_PLACE/memory.events || fault "$(cat $GREEDY_PLACE/memory.events)"
[ -z "$faults" ] || { grep "$GREEDY" $PAGE | grep -E "exited|processes|started"; cat $LOG; }
stop_daemon
rmdir $GREEDY_PLACE
finish
