#!/bin/sh
# judge_python.sh SCRIPT ARGUMENTS...: runs a judge beside this file with the system's python.
python=/usr/bin/python3
[ -x "$python" ] || exit 77
script=$(dirname "$0")/$1
shift
PYTHONDONTWRITEBYTECODE=1 exec "$python" "$script" "$@"
