#!/bin/sh
# judge_promtool.sh PAGE: promtool must accept the page and find nothing to say about it.
promtool=/usr/bin/promtool
[ -x "$promtool" ] || exit 77
said=$("$promtool" check metrics <"$1" 2>&1)
status=$?
[ -z "$said" ] || echo "$said"
[ -z "$said" ] && [ "$status" -eq 0 ]
