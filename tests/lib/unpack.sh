# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# shellcheck shell=bash
#
# For scripts that need other versions of libraries than the installed ones, after tests/vm/lib.sh.

# unavailable WHY...: exit status 77, with the reason as output
unavailable()
{
	echo "$*"
	exit 77
}

# unpack FOLDER SUITES PACKAGE...: Debian's packages into FOLDER, once. False: they are not to be had.
# What FOLDER is in is locked by the caller.
unpack()
{
	local folder=$1 suites=$2 deb

	shift 2
	[ ! -e "$folder" ] || return 0
	rm -rf "$folder.new"
	mkdir -p "$folder.new"
	apt_download "$suites" amd64 "$folder.new/debs" "$@" || return 1
	for deb in "$folder.new"/debs/*.deb; do
		dpkg -x "$deb" "$folder.new" || return 1
	done
	rm -rf "$folder.new/debs"
	mv "$folder.new" "$folder"
}
