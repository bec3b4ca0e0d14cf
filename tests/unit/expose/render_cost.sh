#!/bin/sh
# render_cost.sh PROGRAM BOUND: at most BOUND instructions per sample line in render(), everything
# below it counted, metadata and libc too.
valgrind=/usr/bin/valgrind
[ -x "$valgrind" ] || exit 77
out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT
for format in text openmetrics; do
    samples=$("$valgrind" --quiet --tool=callgrind --toggle-collect=render \
        --callgrind-out-file="$out" "$1" "$format") || exit 1
    echo "$format: $samples"
    awk -v samples="${samples%% *}" -v bound="$2" '
        $1 == "totals:" {
            printf "%d instructions, %.1f per sample, at most %d\n", $2, $2 / samples, bound
            found = 1
            if ($2 / samples > bound) exit 1
        }
        END { if (!found) exit 1 }' "$out" || exit 1
done
