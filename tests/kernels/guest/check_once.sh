#!/bin/sh
# proctallyd --once says of processes that do nothing what this kernel's /proc says of them.
set -u
. /guest/page.sh

configure procfs
start_sleepers
proctallyd --once --config.file=$CONFIG >$PAGE
status=$?
[ $status -eq 0 ] || fault "--once ended with $status"
check_gauges
check_counters
finish
