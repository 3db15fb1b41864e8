# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# shellcheck shell=bash
#
# Shared by the lab's scripts: paths, becoming root, entering a release's root, and requesting
# packages from the archive without touching the machine's own apt state.

VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP_DIR=$(cd "$VM_DIR/../.." && pwd)
: "${GPUMON_CACHE:=${HOME:?}/.cache/gpumon}"
export GPUMON_CACHE

# A pyenv or conda python before Debian's lacks the packages that we install with apt, and sbin is
# not in every user's path.
PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH
export PATH

die()
{
	echo "${0##*/}: $*" >&2
	exit 1
}

say()
{
	echo "==> $*" >&2
}

as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		command -v sudo >/dev/null ||
			die "not root, and there is no sudo: needed for: $*"
		sudo GPUMON_CACHE="$GPUMON_CACHE" GPUMON_PIVOT="${GPUMON_PIVOT:-}" "$@"
	fi
}

# kernels: the names of Debian's kernels, one a line
kernels()
{
	awk '!/^#/ && NF { print $1 }' "$VM_DIR/kernels.list"
}

# sanitised_kernels: the names of the kernels that are built here, one a line, with 7-builtin
sanitised_kernels()
{
	awk '!/^#/ && NF { print $1 }' "$VM_DIR/sanitised.list"
}

# nvidia_kernels: the names of the kernels with NVIDIA's real driver, one a line
nvidia_kernels()
{
	awk '!/^#/ && NF { print $1 }' "$VM_DIR/nvidia.list"
}

# arm64_kernels: the names of the kernels for arm64, one a line
arm64_kernels()
{
	awk '!/^#/ && NF { print $1 }' "$VM_DIR/arm64.list"
}

# old_kernels: the names of the kernels on which a part of the tests runs, one a line
old_kernels()
{
	awk '!/^#/ && NF { print $1 }' "$VM_DIR/old.list"
}

# kernel_select NAME: sets K_NAME K_LINE K_RELEASE K_SUITES K_PATTERN K_DIR K_ROOT K_BUILD
# K_HEADERS K_ARCH K_FLAVOUR K_PROGRAM; for a sanitised kernel also K_SOURCE K_SLOWER K_MEMORY
# K_FRAGMENTS; with NVIDIA's real driver also K_NVIDIA, its folder, and K_NVIDIA_SUITES
# K_NVIDIA_PACKAGE; of old.list K_UNPACKED, a folder with headers that are not installed; for another architecture than amd64 also K_SYSROOT, a root that is only
# unpacked, and K_CROSS, variables of make
kernel_select()
{
	local line suites=''

	# shellcheck disable=SC2034
	K_SOURCE='' K_SLOWER=1 K_MEMORY=2048 K_FRAGMENTS='' K_BORROWED=''
	# shellcheck disable=SC2034
	K_NVIDIA='' K_NVIDIA_SUITES='' K_NVIDIA_PACKAGE=''
	# shellcheck disable=SC2034
	K_ARCH=amd64 K_FLAVOUR=amd64 K_SYSROOT='' K_CROSS=() K_UNPACKED=''
	K_NAME=$1 K_LINE=$1
	line=$(awk -v k="$1" '!/^#/ && $1 == k' "$VM_DIR/arm64.list")
	if [ -n "$line" ]; then
		# shellcheck disable=SC2034
		read -r K_NAME K_LINE K_FLAVOUR suites <<<"$line"
		K_ARCH=arm64
		[[ $K_FLAVOUR != armmp* ]] || K_ARCH=armhf
	fi
	line=$(awk -v k="$1" '!/^#/ && $1 == k' "$VM_DIR/nvidia.list")
	if [ -n "$line" ]; then
		# shellcheck disable=SC2034
		read -r K_NAME K_LINE K_NVIDIA_SUITES K_NVIDIA_PACKAGE <<<"$line"
		# shellcheck disable=SC2034
		K_NVIDIA=$GPUMON_CACHE/nvidia/$K_NAME K_MEMORY=3072
	fi
	line=$(awk -v k="$1" '!/^#/ && $1 == k' "$VM_DIR/sanitised.list")
	if [ -n "$line" ]; then
		# shellcheck disable=SC2034
		read -r K_NAME K_LINE K_SOURCE K_SLOWER K_MEMORY K_FRAGMENTS <<<"$line"
		[[ ,$K_FRAGMENTS, != *,arm64,* ]] || K_ARCH=arm64
	fi
	line=$(awk -v k="$K_LINE" '!/^#/ && $1 == k' "$VM_DIR"/{kernels,old}.list)
	[ -n "$line" ] ||
		die "no kernel '$1'; there are: $({ kernels; old_kernels; } | tr '\n' ' ')and, sanitised: $(sanitised_kernels | tr '\n' ' ')and, for arm64: $(arm64_kernels | tr '\n' ' ')and, with NVIDIA's driver: $(nvidia_kernels | tr '\n' ' ')"
	# shellcheck disable=SC2034
	read -r _ K_RELEASE K_SUITES K_PATTERN <<<"$line"
	[ -z "$suites" ] || K_SUITES=$suites
	K_DIR=$GPUMON_CACHE/kernels/$K_NAME K_BUILD=$GPUMON_CACHE/build/$K_NAME
	# shellcheck disable=SC2034
	[ -z "$K_NVIDIA" ] || K_DIR=$GPUMON_CACHE/kernels/$K_LINE K_BUILD=$GPUMON_CACHE/build/$K_LINE
	# The headers of a kernel of backports: a machine's own apt seldom has that suite.
	# shellcheck disable=SC2034
	case $K_SUITES in
	*-backports*) K_ROOT=$GPUMON_CACHE/roots/$K_RELEASE ;;
	*) K_ROOT=$(root_of "$K_RELEASE") ;;
	esac
	K_PROGRAM=$K_RELEASE
	if [ "$K_ARCH" != amd64 ]; then
		K_PROGRAM=$K_RELEASE-$K_ARCH
		K_SYSROOT=$(readlink -m "$GPUMON_CACHE/roots/$K_PROGRAM")
		K_CROSS=(ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- SYSROOT="$K_SYSROOT")
		# shellcheck disable=SC2034
		[ "$K_ARCH" = arm64 ] ||
			K_CROSS=(ARCH=arm CROSS_COMPILE=arm-linux-gnueabihf- SYSROOT="$K_SYSROOT")
	fi
	if [ -n "$K_FRAGMENTS" ]; then
		# A cache may borrow its kernels from another one by a link, which would be broken
		# inside a root (in_root).
		# shellcheck disable=SC2034
		[ ! -L "$GPUMON_CACHE/kernels" ] || K_BORROWED=1
		K_HEADERS=$(readlink -m "$K_DIR")/headers
	else
		if old_kernels | grep -qFx "$K_LINE"; then
			K_UNPACKED=$(readlink -m "$K_DIR")/headers
		fi
		# shellcheck disable=SC2034
		K_HEADERS=${K_UNPACKED:-$K_SYSROOT}/usr/src/linux-headers-$(kernel_version 2>/dev/null || :)
	fi
}

# kernel_version: the version that prepare found for the selected kernel
kernel_version()
{
	cat "$K_DIR/version"
}

host_release()
{
	# shellcheck disable=SC1091
	(. /etc/os-release && echo "${VERSION_CODENAME:-unknown}")
}

root_of()
{
	if [ "$1" = "$(host_release)" ] && [ -z "${GPUMON_NO_HOST_ROOT:-}" ]; then
		echo /
	else
		echo "$GPUMON_CACHE/roots/$1"
	fi
}

# release_dir PROGRAM: a copy of the sources, and what is built in it for all kernels of a release (and
# an architecture, see K_PROGRAM)
release_dir()
{
	echo "$GPUMON_CACHE/build/$1"
}

# apt_uri main|security: the mirror that this machine itself uses
apt_uri()
{
	local uri

	# shellcheck disable=SC2016
	uri=$(apt-get indextargets --format '$(LABEL)|$(REPO_URI)' 2>/dev/null |
		awk -F'|' -v want="$([ "$1" = main ] && echo Debian || echo Debian-Security)" \
			'$1 == want { print $2; exit }')
	if [ -z "$uri" ]; then
		# Without lists (on a fresh machine) apt knows no labels: use the sources
		# themselves, in both their formats.
		uri=$(apt_sources | awk -v want="$1" '
			want == "main" && $2 !~ /-security|\/updates/ && $1 ~ /\/debian\/?$/ { print $1; exit }
			want == "security" && $2 ~ /-security/ { print $1; exit }')
	fi
	if [ -z "$uri" ] && [ "$1" = security ]; then
		uri=$(apt_uri main)
		uri=${uri%/}-security
	fi
	[ -n "$uri" ] || die "no Debian archive in this machine's apt sources"
	echo "${uri%/}"
}

# apt_sources: "URI SUITE" of every deb line and stanza
apt_sources()
{
	local d=/etc/apt

	cat "$d"/sources.list "$d"/sources.list.d/*.list 2>/dev/null |
		sed -n 's/^deb[[:space:]]\+\(\[[^]]*\][[:space:]]*\)\?//p' |
		awk '{ print $1, $2 }'
	cat /dev/null "$d"/sources.list.d/*.sources 2>/dev/null | awk '
		function flush(  i, j) {
			for (i = 1; i <= nu; i++)
				for (j = 1; j <= ns; j++)
					print u[i], s[j]
			nu = ns = 0
		}
		/^[[:space:]]*$/ || /^Types:/ { flush() }
		/^URIs:/ { nu = split($0, t, /[ \t]+/) - 1; for (i = 1; i <= nu; i++) u[i] = t[i + 1] }
		/^Suites:/ { ns = split($0, t, /[ \t]+/) - 1; for (i = 1; i <= ns; i++) s[i] = t[i + 1] }
		END { flush() }'
}

# suite_line SUITE[/COMPONENT]: a sources.list line for it, on the machine's own mirror
suite_line()
{
	local keyring=/usr/share/keyrings/debian-archive-keyring.gpg kind=main component=main

	case $1 in */*) component=${1#*/} ;; esac
	case ${1%/*} in *-security) kind=security ;; esac
	echo "deb [signed-by=$keyring] $(apt_uri $kind) ${1%/*} $component"
}

# apt_private SUITES ARCH CMD...: apt-get or apt-cache with its own lists in the cache, for any
# suite and architecture, without changing the machine's configuration.
apt_private()
{
	local suites=$1 arch=$2 cmd=$3 dir s
	shift 3

	dir=${suites//,/+}
	dir=$GPUMON_CACHE/apt/${dir//\//_}-$arch
	mkdir -p "$dir"/{lists/partial,cache/archives/partial,etc/parts}
	if [ ! -s "$dir/etc/sources.list" ]; then
		for s in ${suites//,/ }; do
			suite_line "$s"
		done >"$dir/etc/sources.list.new"
		mv "$dir/etc/sources.list.new" "$dir/etc/sources.list"
	fi
	: >>"$dir/status"
	local opts=(-o Dir::State="$dir" -o Dir::State::lists="$dir/lists"
		-o Dir::State::status="$dir/status" -o Dir::Cache="$dir/cache"
		-o Dir::Etc::sourcelist="$dir/etc/sources.list"
		-o Dir::Etc::sourceparts="$dir/etc/parts"
		-o Dir::Etc::preferencesparts="$dir/etc/parts"
		-o APT::Architecture="$arch" -o APT::Architectures="$arch"
		-o APT::Sandbox::User="$(id -un)" -o Acquire::Retries=3
		-o APT::Update::Post-Invoke-Success::= -o Acquire::Languages=none)
	if [ ! -e "$dir/updated" ]; then
		say "package lists of ${suites//,/ } ($arch)"
		# By default, apt accepts incomplete lists.
		flock "$dir/etc" apt-get "${opts[@]}" -q -o APT::Update::Error-Mode=any update >&2 ||
			return
		touch "$dir/updated"
	fi
	"$cmd" "${opts[@]}" "$@"
}

# apt_download SUITES ARCH DIR PACKAGE...: the .deb files, into DIR
apt_download()
{
	local suites=$1 arch=$2 dir=$3
	shift 3

	mkdir -p "$dir"
	(cd "$dir" && apt_private "$suites" "$arch" apt-get -q download "$@" >&2)
}

# unpack_root SUITES ARCH DIR PACKAGE...: DIR/root has the packages and what they depend on, which are only
# unpacked
unpack_root()
{
	local suites=$1 arch=$2 dir=$3 d
	shift 3

	mkdir -p "$dir"/root/usr/{bin,sbin,lib/modules} "$dir/archives/partial"
	for d in bin sbin lib; do
		ln -s "usr/$d" "$dir/root/$d"
	done
	apt_private "$suites" "$arch" apt-get -q -y --no-install-recommends --download-only \
		-o Dir::Cache::archives="$dir/archives" install "$@" >&2
	for d in "$dir"/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$d" | tar -x -C "$dir/root" --keep-directory-symlink
	done
	# Links that dpkg's scripts would make.
	ln -sf dash "$dir/root/usr/bin/sh"
	ln -sf mawk "$dir/root/usr/bin/awk"
}

# unpack_headers DIR SUITES ARCH VERSION: the headers of a kernel with their tools, in a folder instead
# of where they would be installed. VERSION is that of the kernel, 6.1.0-56-amd64.
unpack_headers()
{
	local dir=$1 suites=$2 arch=$3 version=$4 part=$1.part headers deb link d wanted

	[ "$(cat "$dir/version" 2>/dev/null)" != "$version" ] || return 0
	rm -rf "$dir" "$part"
	mkdir -p "$part/deb"
	apt_download "$suites" "$arch" "$part/deb" "linux-headers-$version" || return
	wanted=$(dpkg-deb -f "$part/deb/linux-headers-${version}_"*.deb Depends |
		grep -oE 'linux-(headers|kbuild)-[^ ,(]+')
	# The tools run here. Everything else is the same on every architecture.
	# shellcheck disable=SC2086
	apt_download "$suites" amd64 "$part/deb" $wanted || return
	for deb in "$part"/deb/*.deb; do
		dpkg-deb -x "$deb" "$part" || return
	done
	rm -rf "$part/deb"
	headers=$part/usr/src/linux-headers-$version
	# Without this file no time is spent on BTF.
	rm -f "$headers/vmlinux"
	for d in scripts tools; do
		link=$(readlink "$headers/$d") || continue
		ln -sfn "../../lib/${link#*/lib/}" "$headers/$d"
	done
	sed -i "s,/usr/src/,$dir/usr/src/,g" "$headers/Makefile"
	echo "$version" >"$part/version"
	mv "$part" "$dir"
}

# in_root ROOT CMD...: run as root inside a release's root, in a mount namespace of its own, so that
# nothing stays mounted. objtool of 7.2 and later needs /proc, and dpkg's scripts need /dev.
# GPUMON_PIVOT=1: the root is that of the namespace, in which the kernel allows user namespaces.
in_root()
{
	local root=$1
	shift

	if [ "$root" = / ]; then
		as_root "$@"
		return
	fi
	# shellcheck disable=SC2016
	as_root unshare --mount --propagation private bash -euc '
		root=$1; shift
		[ -z "${GPUMON_PIVOT:-}" ] || mount --bind "$root" "$root"
		mount -t proc proc "$root/proc"
		mount -t sysfs -o ro sys "$root/sys" 2>/dev/null || :
		mount --rbind /dev "$root/dev"
		mount -t tmpfs tmp "$root/tmp"
		mount -t tmpfs run "$root/run"
		mkdir -p "$root$GPUMON_CACHE"
		mount --bind "$GPUMON_CACHE" "$root$GPUMON_CACHE"
		# What is borrowed from another cache: roots has headers for other architectures.
		for part in kernels roots; do
			[ -L "$GPUMON_CACHE/$part" ] || continue
			borrowed=$(readlink -f "$GPUMON_CACHE/$part")
			mkdir -p "$root$borrowed"
			mount --bind "$borrowed" "$root$borrowed"
		done
		[ ! -e /etc/resolv.conf ] || cp -L /etc/resolv.conf "$root/etc/resolv.conf"
		enter=(chroot "$root")
		if [ -n "${GPUMON_PIVOT:-}" ]; then
			cd "$root"
			pivot_root . mnt
			umount -l /mnt
			enter=()
		fi
		exec "${enter[@]}" env -i HOME=/root TERM="${TERM:-dumb}" LANG=C.UTF-8 \
			GPUMON_CACHE="$GPUMON_CACHE" \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			${http_proxy:+http_proxy="$http_proxy"} "$@"
	' in_root "$root" "$@"
}

# build_in_root ROOT CMD...: the same as the calling user, so that what it builds is the user's: nobody
# else's files can be linked, or built on
build_in_root()
{
	local root=$1
	shift

	if [ "$root" = / ]; then
		"$@"
	else
		in_root "$root" setpriv --reuid="$(id -u)" --regid="$(id -g)" --clear-groups "$@"
	fi
}

# has_module NAME: the big drivers are not part of every sanitised kernel, nor of every architecture
has_module()
{
	[ "$K_FRAGMENTS$K_ARCH" = amd64 ] || [ -n "$(find -L "$K_DIR/modules" -path '*/kernel/*' -name "$1.ko*" -print -quit)" ]
}

# sync_sources DIR: copy the current sources, without files that git ignores. Unchanged files keep
# their times there, so that make only rebuilds what it must. Changed files get the current time,
# since an edit may be older than a build from another tree.
sync_sources()
{
	mkdir -p "$1"
	# Files in .gitignore are neither copied nor deleted, which keeps the folder's own build
	# results.
	rsync -rlp --checksum --delete --exclude=/.git --filter=':- .gitignore' \
		"$TOP_DIR/" "$1/"
}

# qemu_select: sets K_QEMU, the command with the board and processor of the kernel's architecture. QEMU 10 of Debian 13's root boots a kernel in half the time
# of Debian 12's own QEMU 7.2, so it is preferred. The root's own loader starts it.
qemu_select()
{
	local root lib program=qemu-system-x86_64 board=()

	# The boards of ARM have no default.
	case $K_ARCH in
	arm64)
		program=qemu-system-aarch64
		# Return addresses are signed, in a way that is cheap to emulate.
		board=(-machine "virt,gic-version=3" -cpu "max,pauth-impdef=on")
		;;
	armhf)
		program=qemu-system-arm
		# ARMv7, as the kernel's name has it: its loads and stores of 64 bits are those of LPAE.
		board=(-machine "virt,highmem=off" -cpu cortex-a15)
		;;
	esac
	root=$(root_of trixie)
	lib=$root/usr/lib/x86_64-linux-gnu
	if [ "$root" != / ] && [ -x "$root/usr/bin/$program" ]; then
		# shellcheck disable=SC2034
		K_QEMU=(env "QEMU_MODULE_DIR=$lib/qemu" "$lib/ld-linux-x86-64.so.2"
			--library-path "$lib" "$root/usr/bin/$program"
			-L "$root/usr/share/qemu" -L "$root/usr/share/seabios" "${board[@]}")
	else
		# shellcheck disable=SC2034
		K_QEMU=("$program" "${board[@]}")
		command -v "$program" >/dev/null ||
			die "there is no $program: tests/vm/prepare 7 brings it"
	fi
}

# qemu_version: the major version of K_QEMU
qemu_version()
{
	"${K_QEMU[@]}" --version | sed -n 's/.*version \([0-9]*\).*/\1/p'
}
