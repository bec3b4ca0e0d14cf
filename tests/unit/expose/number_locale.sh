#!/bin/sh
# number_locale.sh TEST_NUMBER: runs it where the decimal point is a comma, and where it is the
# two bytes of U+066B. Such locales are rarely installed, so they are built here.
localedef=/usr/bin/localedef
[ -x "$localedef" ] && [ -e /usr/share/i18n/locales/ps_AF ] || exit 77
places=$(mktemp -d) || exit 1
trap 'rm -rf "$places"' EXIT
for source in de_DE ps_AF; do
    "$localedef" -i "$source" -f UTF-8 "$places/de_DE.UTF-8" || exit 77
    said=$(LOCPATH=$places "$1" 2>&1) || { echo "$source: $said"; exit 1; }
    case $said in *SKIPPED*) echo "$source: locale not taken: $said"; exit 1 ;; esac
    rm -r "$places/de_DE.UTF-8"
done
