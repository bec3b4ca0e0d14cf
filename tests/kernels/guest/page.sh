# A page of the daemon held against what /proc says, read by busybox. To be sourced.
#
# Three processes do nothing any more, in a service's control group of their own, so that what is
# read of them stays what it is.

GROUP=sleepers.service
PLACE=/sys/fs/cgroup/system.slice/$GROUP
CONFIG=/tmp/proctallyd.ini
PAGE=/tmp/page
faults=

# configure SOURCE: all there is, by that source.
configure() {
    SOURCE=$1
    printf "[collector]\nsource = $1\n[metrics]\ninclude = *\n" >$CONFIG
}

fault() {
    faults="${faults}FAIL $*
"
}

# Waits until a command succeeds.
wait_until() {
    local tries=300
    until "$@"; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || { echo "FAIL not within 30 s: $*"; exit 1; }
        sleep 0.1
    done
}

asleep() {
    [ "$(cut -d ' ' -f 2,3 /proc/$1/stat)" = "(sleep) S" ]
}

# in_state PID LETTER: of a process whose name has no blanks.
in_state() {
    [ "$(cut -d ' ' -f 3 /proc/$1/stat)" = $2 ]
}

# Processes outlive the check that started them, whose page is no other check's.
end_sleepers() {
    kill $sleepers
    wait $sleepers
    rmdir $PLACE
}

start_sleepers() {
    local i
    mkdir -p $PLACE
    sleepers=
    trap end_sleepers EXIT
    for i in 1 2 3; do
        # What is to be read of them is not 0. By its path: the shell would sleep itself.
        sh -c 'i=0
            while [ $i -lt 30000 ]; do i=$((i + 1)); done
            echo $i >/dev/null
            exec /bin/sleep 1000' &
        sleepers="$sleepers $!"
        echo $! >$PLACE/cgroup.procs
        wait_until asleep $!
    done
}

# files NAME: that file of each of them.
files() {
    local pid
    for pid in $sleepers; do
        echo /proc/$pid/$1
    done
}

# sum_of FILE KEY UNIT: what the lines that begin with KEY say, added up and times UNIT.
sum_of() {
    awk -v key="$2:" -v unit="$3" '$1 == key { n += $2 } END { printf "%.0f", n * unit }' $(files $1)
}

# sum_of_stat FIELD: by its number in proc(5); the names of these have no blanks.
sum_of_stat() {
    awk -v field=$1 '{ n += $field } END { printf "%.0f", n }' $(files stat)
}

count_fds() {
    ls $(files fd) | grep -c '^[0-9]'
}

# As the source counts them: [vsyscall] is in the text of every process, and a mapping of none.
mappings() {
    local pid
    for pid in $sleepers; do
        if [ $SOURCE = bpf ]; then
            grep -v '\[vsyscall\]$' /proc/$pid/maps
        else
            cat /proc/$pid/maps
        fi | wc -l
    done
}

count_mappings() {
    mappings | awk '{ n += $1 } END { print n }'
}

max_mappings() {
    mappings | sort -n | tail -n 1
}

max_fds() {
    local pid
    for pid in $sleepers; do
        ls /proc/$pid/fd | wc -l
    done | sort -n | tail -n 1
}

fds_limit() {
    awk '/^Max open files/ { print $4 }' $(files limits) | sort -n | head -n 1
}

# The oldest one's, in ticks.
oldest_start() {
    awk '{ print $22 }' $(files stat) | sort -n | head -n 1
}

# Whether this kernel is that or a later one.
kernel_is() {
    uname -r | awk -F . -v major=$1 -v minor=$2 '{ exit $1 < major || $1 == major && $2 < minor }'
}

# Resident memory. From 6.2 on /proc/PID/status is off by what each CPU has not added yet; the
# programs in the kernel add it, and so does who counts the pages.
check_resident() {
    local kinds='kind="anon" kind="file" kind="shmem"' kind sum=0
    if [ $SOURCE = bpf ] && kernel_is 6 2; then
        group resident_memory_bytes "$(sum_of smaps_rollup Anonymous 1024)" 'kind="anon"'
        for kind in $kinds; do
            sum=$((sum + $(value_of "proctally_group_resident_memory_bytes{group=\"$GROUP\",$kind}")))
        done
        [ $sum = "$(sum_of smaps_rollup Rss 1024)" ] || fault "resident in all is $sum"
    else
        group resident_memory_bytes "$(sum_of status RssAnon 1024)" 'kind="anon"'
        group resident_memory_bytes "$(sum_of status RssFile 1024)" 'kind="file"'
        group resident_memory_bytes "$(sum_of status RssShmem 1024)" 'kind="shmem"'
    fi
}

key_of() {
    awk -v key=$2 '$1 == key { print $2 }' $1
}

# The value of a series, by its name and labels as they are written.
value_of() {
    awk -v name="$1" 'substr($0, 1, length(name) + 1) == name " " { print substr($0, length(name) + 2) }' $PAGE
}

# expect SERIES NUMBER [DIFFERENCE]: it is there once, and differs by no more than that.
expect() {
    local got
    got=$(value_of "$1")
    echo "$got $2 ${3:-0.000000001}" | awk '
        { d = $1 - $2; exit NF != 3 || d > $3 || d < -$3 }' || fault "$1 is '$got', not $2"
}

# group NAME NUMBER [LABEL [DIFFERENCE]]: the same of the sleepers' group.
group() {
    expect "proctally_group_$1{group=\"$GROUP\"${3:+,$3}}" "$2" ${4:-}
}

# between NAME LEAST MOST: the same within bounds, for what others change, too.
between() {
    local got
    got=$(value_of "proctally_group_$1{group=\"$GROUP\"}")
    echo "$got $2 $3" | awk '{ exit NF != 3 || $1 < $2 || $1 > $3 }' ||
        fault "$1 is '$got', not from $2 to $3"
}

ratio() {
    awk -v a=$1 -v b=$2 'BEGIN { printf "%.17g", a / b }'
}

# What stands at a value and does not add up.
check_gauges() {
    group processes 3
    group threads 3
    group processes_in_state 3 'state="sleeping"'
    group processes_in_state 0 'state="running"'
    group zombie_children 0
    group oldest_start_time_seconds \
        $(($(key_of /proc/stat btime) + $(oldest_start) / 100)) '' 1.1
    check_resident
    group swap_bytes "$(sum_of status VmSwap 1024)"
    group virtual_memory_bytes "$(sum_of status VmSize 1024)"
    # Pages are shared with whatever else of busybox runs.
    between proportional_memory_bytes \
        $(($(sum_of smaps_rollup Private_Clean 1024) + $(sum_of smaps_rollup Private_Dirty 1024))) \
        $(sum_of smaps_rollup Rss 1024)
    group mappings "$(count_mappings)"
    group mappings_limit_ratio "$(ratio $(max_mappings) $(cat /proc/sys/vm/max_map_count))"
    group open_fds "$(count_fds)"
    group open_fds_limit_ratio "$(ratio $(max_fds) $(fds_limit))"

    expect proctally_up 1
    expect "proctally_source_info{source=\"$SOURCE\",reason=\"configured\"}" 1
    expect proctally_host_boot_time_seconds "$(key_of /proc/stat btime)"
    expect 'proctally_host_tasks_limit{limit="pid_max"}' "$(cat /proc/sys/kernel/pid_max)"
    expect 'proctally_host_tasks_limit{limit="threads_max"}' "$(cat /proc/sys/kernel/threads-max)"
    expect proctally_host_open_files_limit "$(cut -f 3 /proc/sys/fs/file-nr)"
    # Process 1 and root may read all there is.
    ! grep '^proctally_read_errors_total\|^proctally_group_unread_processes' $PAGE ||
        fault "something was not read:
$(grep '^proctally_read_errors_total\|^proctally_group_unread_processes' $PAGE)"
    grep -q '^proctally_group_processes{group="kernel"} [1-9]' $PAGE || fault "no kernel threads"
}

# Since the start of the processes, as --once shows it.
check_counters() {
    [ $(($(sum_of_stat 14) * $(sum_of_stat 10) * $(sum_of io wchar 1))) -gt 0 ] ||
        fault "they have done nothing"
    group cpu_seconds_total "$(ratio $(sum_of_stat 14) 100)" 'mode="user"'
    group cpu_seconds_total "$(ratio $(sum_of_stat 15) 100)" 'mode="system"'
    group minor_page_faults_total "$(sum_of_stat 10)"
    group major_page_faults_total "$(sum_of_stat 12)"
    group storage_read_bytes_total "$(sum_of io read_bytes 1)"
    group storage_written_bytes_total "$(sum_of io write_bytes 1)"
    group syscall_read_bytes_total "$(sum_of io rchar 1)"
    group syscall_written_bytes_total "$(sum_of io wchar 1)"
    group read_syscalls_total "$(sum_of io syscr 1)"
    group write_syscalls_total "$(sum_of io syscw 1)"
}

finish() {
    [ -z "$faults" ] && exit 0
    grep "$GROUP" $PAGE
    echo "$faults"
    exit 1
}
