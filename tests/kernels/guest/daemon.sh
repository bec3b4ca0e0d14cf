# The daemon serving over the loopback device. To be sourced, after page.sh.

URL=http://127.0.0.1:19256
LOG=/tmp/daemon.log
daemon=

end_daemon() {
    [ -z "$daemon" ] || kill -KILL $daemon 2>/dev/null
}

# start_daemon COMMAND...: it, with a cycle a second, as that command runs what is behind it.
start_daemon() {
    "$@" proctallyd --config.file=$CONFIG --collector.interval=1s 2>$LOG &
    daemon=$!
}

# Makes $PAGE of what is served now.
get_page() {
    kill -0 $daemon || { echo "FAIL the daemon is gone"; cat $LOG; exit 1; }
    wget -q -O $PAGE $URL/metrics
}

snapshots() {
    value_of proctally_snapshots_total
}

reached() {
    get_page && [ "$(snapshots)" -ge $1 ]
}

# settle N: a page that is so many cycles on.
settle() {
    wait_until get_page
    wait_until reached $(($(snapshots) + $1))
}

# A page of which all has been read; what is read beside the cycle is in a later one. To be waited
# for, by who may read all.
all_is_read() {
    get_page && ! grep -q '^proctally_group_unread_processes' $PAGE
}

# It ends when told to, with success.
stop_daemon() {
    local status
    kill -TERM $daemon
    wait $daemon
    status=$?
    daemon=
    [ $status -eq 0 ] || fault "the daemon ended with $status"
}
