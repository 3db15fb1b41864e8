# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154
#
# For tests of packages, after tests/vm/lib.sh: roots of a release of Debian, and verdicts.

VERSION=$(make -s --no-print-directory -C "$TOP_DIR" version)
# Those of the cache, which the roots have, too.
CUDA=$(CUDA=/none "$TOP_DIR/tests/lib/cuda" headers)
failed=0

# begin NAME RELEASE: a folder for the test with a copy of the sources, and the roots of the release
begin()
{
	test_name=$1
	release=$2
	work=$GPUMON_CACHE/build/$test_name-$release
	clean_root=$GPUMON_CACHE/roots/packages-$release
	build_root=$clean_root-build
	user_root=$work/root
	as_root rm -rf "$work"
	mkdir -p "$work/tree"
	sync_sources "$work/tree"
}

verdict()
{
	local what=$1

	shift
	if "$@" >"$work/log" 2>&1; then
		echo "ok build/$test_name: $release: $what"
	else
		sed 's/^/    /' "$work/log" | tail -n 40
		echo "not ok build/$test_name: $release: $what"
		failed=1
		return 1
	fi
}

# Functions below run where bash ignores set -e, so each step is a part of a chain.

quietly()
{
	in_root "$1" env DEBIAN_FRONTEND=noninteractive "${@:2}"
}

# base_root ROOT: only what each Debian has
base_root()
{
	[ ! -e "$1.ready" ] || return 0
	as_root rm -rf "$1" && mkdir -p "$GPUMON_CACHE/debs" &&
		as_root debootstrap --variant=minbase --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
			--cache-dir="$GPUMON_CACHE/debs" "$release" "$1" "$(apt_uri main)" &&
		{ suite_line "$release"; suite_line "$release-security"; } | as_root tee "$1/etc/apt/sources.list" &&
		printf 'force-unsafe-io\n' | as_root tee "$1/etc/dpkg/dpkg.cfg.d/gpumon" &&
		in_root "$1" apt-get update && touch "$1.ready"
}

# with_build_depends: in the root for builds, all that packaging/debian/control names
with_build_depends()
{
	cmp -s "$TOP_DIR/packaging/debian/control" "$build_root.depends" && return 0
	base_root "$build_root" && mkdir -p "$work/depends" && cp -r "$TOP_DIR/packaging/debian" "$work/depends/debian" &&
		quietly "$build_root" apt-get install -y --no-install-recommends dpkg-dev &&
		quietly "$build_root" apt-get build-dep -y --no-install-recommends "$work/depends" &&
		cp "$TOP_DIR/packaging/debian/control" "$build_root.depends"
}

# What is on the disk, but for apt's and dpkg's own lists and logs.
files_of()
{
	(cd "$1" && as_root find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp -o -path ./run \
		-o -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log -o -path ./root \) \
		-prune -o -print | sort)
}
