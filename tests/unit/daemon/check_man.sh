#!/bin/sh
# The man pages name every flag and key of options.def, under the right section and with the right
# default; and they are free of what mandoc warns of, where it is installed.
#
# Usage: check_man.sh SOURCE_DIRECTORY
set -u
root=${1:?the source directory}
def=$root/daemon/options.def
flags_page=$root/docs/proctallyd.8.scd
file_page=$root/docs/proctallyd.ini.5.scd
failed=0

complain() {
	echo "$*" >&2
	failed=1
}

# Rows as `kind|section|key|flag|default|value`. Strings are told by their quotes; a row that has
# NULL for a flag has one string less.
rows() {
	awk '/^(OPTION|GROUP_OPTION|ACTION)\(/ { if (row) print row; row = "" }
	     /^(OPTION|GROUP_OPTION|ACTION)\(/ || row { row = row " " $0 }
	     END { print row }' "$def" |
	awk -F'"' -v OFS='|' '
		/^ OPTION/ && $5 ~ /^, NULL,/ { print "option", $2, $4, "", $6, $8; next }
		/^ OPTION/ { print "option", $2, $4, $6, $8, $10; next }
		/^ GROUP_OPTION/ { print "option", "group NAME", $2, "", "-", $4; next }
		/^ ACTION/ && /NULL, NULL/ { print "action", "", "", $2, "", ""; next }
		/^ ACTION/ { print "action", "", "", $2, "", $4 }'
}

# The text of one section of the page, on one line.
section() {
	awk -v title="# SECTION [$1]" '/^# / { on = $0 == title } on' "$file_page" |
	tr '\n\t' '  ' | tr -s ' '
}

check_key() {
	paragraph=$(section "$1" | sed -n "s/.* \\*$2\\* = \\([^=]*\\).*/\\1/p")
	[ -n "$paragraph" ] || { complain "$file_page: no *$2* in [$1]"; return; }
	case $3 in
	-) return ;;
	'') default='Default: none' ;;
	*) default="Default: *$3*" ;;
	esac
	case $paragraph in
	*"$default"*) ;;
	*) complain "$file_page: [$1] $2 does not say \"$default\"" ;;
	esac
}

check_flag() {
	grep -Eq "^\\*--$1\\*(=_$(echo "$2" | sed 's/|/\\|/g')_)?(, \\*-h\\*)?\$" "$flags_page" ||
		complain "$flags_page: no paragraph on --$1"
	[ -z "$2" ] || grep -Fq -- "*--$1*=_$2_" "$flags_page" ||
		complain "$flags_page: --$1 does not take $2"
}

lint() {
	command -v scdoc >/dev/null && command -v mandoc >/dev/null || return 0
	# scdoc writes an empty paragraph before each of its own; that is all it is warned of.
	found=$(scdoc <"$1" 2>&1 | mandoc -T lint -W warning 2>&1 | grep -v 'skipping paragraph macro')
	[ -z "$found" ] || complain "$1: $found"
}

list=$(mktemp) || exit 1
trap 'rm -f "$list"' EXIT
rows >"$list"
[ "$(wc -l <"$list")" -ge 18 ] || complain "$def: rows are not understood"
while IFS='|' read -r kind section key rest; do
	flag=${rest%%|*}
	rest=${rest#*|}
	default=${rest%%|*}
	value=${rest#*|}
	[ "$kind" = action ] || check_key "$section" "$key" "$default"
	[ -z "$flag" ] || check_flag "$flag" "$value"
done <"$list"
lint "$flags_page"
lint "$file_page"
exit $failed
