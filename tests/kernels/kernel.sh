#!/bin/bash
# kernel.sh VERSION RELEASE CACHE - prints the path of Debian's stock kernel VERSION (5.10, say).
#
# It is unpacked from the cloud image's package of RELEASE, which comes from where this machine gets
# its own packages, by lists and caches of apt that are thrown away: the machine's apt is not
# touched, and no root is needed. What is in CACHE is complete and stays: a second run asks nobody.
#
# Ends with 77 and a reason where there is no such kernel to be had.
set -euo pipefail
export LC_ALL=C

readonly VERSION=$1 RELEASE=$2 CACHE=$3
readonly META=linux-image-cloud-amd64
readonly KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
readonly PATIENCE_S=200
work=

skip() {
  echo "skipped: kernel $VERSION: $*" >&2
  exit 77
}

fail() {
  echo "kernel $VERSION: $*" >&2
  exit 1
}

# The newest kernel that is kept, if any.
kept() {
  find "$CACHE" -maxdepth 1 -name "vmlinuz-$VERSION.*" 2>/dev/null | sort -V | tail -n 1
}

# The address of the repository that this machine's own release comes from.
mirror() {
  local codename
  codename=$(sed -n 's/^VERSION_CODENAME="\?\([^"]*\)"\?$/\1/p' /etc/os-release)
  apt-get indextargets --no-release-info --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' \
    'Created-By: Packages' 2>/dev/null |
    awk -v own="$codename" '
      $2 == "main" && ($1 == own || $1 ~ /^((old)*stable|testing|unstable|sid)$/) { print $3; exit }'
}

# Settings of apt in a file that is read last, for the machine's hooks can only be cleared there.
configure_apt() {
  mkdir -p "$work"/{lists,cache/archives}/partial "$work/log"
  : >"$work/status"
  echo "deb [signed-by=$KEYRING arch=amd64 target=Packages] $1 $RELEASE main" >"$work/sources.list"
  cat >"$work/apt.conf" <<END
Dir::Etc::SourceList "$work/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "$work";
Dir::State::Lists "$work/lists";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
Dir::Log "$work/log";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "1";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
END
}

# Runs a tool of apt there; what it says is in its log.
ask_apt() {
  local tool=$1
  shift
  (cd "$work" && exec timeout -s KILL "$PATIENCE_S" "$tool" -c "$work/apt.conf" -q "$@") \
    </dev/null 2>"$work/log/$tool"
}

reason() {
  grep '^[EW]: ' "$work/log/$1" | head -n 1
}

# The name of the package of the release's newest kernel.
package() {
  ask_apt apt-cache show "$META" | sed -n 's/^Depends: \(linux-image-[^ ,]*\).*/\1/p' | head -n 1
}

# The kernel gets its name in the cache when all of it is on the disk.
keep() {
  local new=$CACHE/.new.$$ name=${1##*/}
  mkdir -p "$CACHE"
  cp "$1" "$new"
  sync "$new"
  mv "$new" "$CACHE/$name"
}

get() {
  local address name tool
  for tool in apt-get apt-cache dpkg-deb; do
    command -v "$tool" >/dev/null || skip "needs $tool"
  done
  [ -r "$KEYRING" ] || skip "needs the keys of debian-archive-keyring"
  address=$(mirror) || true
  [ -n "$address" ] || skip "no source of apt here has this machine's own release"

  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  configure_apt "$address"
  ask_apt apt-get update >/dev/null || skip "no list of $RELEASE: $(reason apt-get)"
  name=$(package) || true
  [ -n "$name" ] || skip "$RELEASE has no $META any more"
  [[ $name == "linux-image-$VERSION."* ]] || skip "$RELEASE has $name instead"
  ask_apt apt-get download "$name" >/dev/null || skip "no download of $name: $(reason apt-get)"

  dpkg-deb --fsys-tarfile "$work/$name"_*.deb >"$work/tar" || fail "$name does not unpack"
  tar -x -f "$work/tar" -C "$work" --wildcards './boot/vmlinuz-*' || fail "$name has no kernel"
  keep "$work"/boot/vmlinuz-*
}

if [ -z "$(kept)" ]; then
  get
fi
kept
