#!/bin/sh
# In a pid namespace other programs are loaded, which find out by which number a process is known
# there: the tests of the programs and their comparison once more, as its first process.
set -u
. /guest/page.sh

for program in test_source test_source_ends bpf_compare; do
    unshare --pid --fork --mount-proc /programs/$program || fault "$program in a pid namespace: $?"
done
finish
