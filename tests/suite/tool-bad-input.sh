#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# vm: class=once tool timeout=120
#
# Messages of gpumon-user for requests that it cannot carry out: one clear line on stderr, nothing
# on stdout, the exit status for the kind of failure, and no partial changes.
#
# shellcheck source=tests/suite/lib/lib.sh disable=SC2119
. "$(dirname "$0")/lib/lib.sh"

tool=$GPUMON_BUILD/gpumon-user
[ -x "$tool" ] || fail "there is no $tool"

# expect STATUS WORDS COMMAND...: one line with these words (an expression)
expect()
{
	local status=$1 words=$2 is=0
	shift 2
	"$@" >"$TMPDIR/out" 2>"$TMPDIR/err" </dev/null || is=$?
	[ "$is" = "$status" ] ||
		fail "$*: exit status $is, should be $status: $(head -c 300 "$TMPDIR/err")"
	equal "$(wc -l <"$TMPDIR/err")" 1 "lines on stderr of $*: $(head -n 5 "$TMPDIR/err")"
	[ ! -s "$TMPDIR/out" ] || fail "$*: prints on stdout: $(head -n 3 "$TMPDIR/out")"
	grep -Eq -- "$words" "$TMPDIR/err" || fail "$*: says: $(cat "$TMPDIR/err")"
}

nobody()
{
	setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"
}

step "wrong usage, module loaded or not"
usage()
{
	expect 2 'nosuch' "$tool" help nosuch
	expect 2 'nosuch' "$tool" nosuch
	expect 2 '--nope' "$tool" --nope
	expect 2 '--nope' "$tool" stat --nope
	expect 2 '--interval' "$tool" stat --interval
	expect 2 '--interval' "$tool" stat --interval x
	expect 2 '--interval' "$tool" stat --interval -1
	expect 2 '--duration' "$tool" trace --duration 1x
	expect 2 '--size' "$tool" set event-ring on --size 7
	expect 2 '--size' "$tool" set event-ring on --size 65537
	expect 2 '--size' "$tool" set event-ring on --size 99999999999999999999
	expect 2 'set' "$tool" set
	expect 2 'maybe' "$tool" set drm_sched maybe
	expect 2 'drm_sched' "$tool" set drm_sched
}
usage

step "module not loaded"
for command in "stat --source=module" "stat --json --source=module" "set drm_sched on" \
	"trace --duration 100ms --source=module"; do
	# shellcheck disable=SC2086
	case $command in
	*--json*)
		# A program gets the error where it reads the answer.
		status=0
		"$tool" $command >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
		equal "$status" 77 "exit status of $command"
		python3 -c 'import json, sys; e = json.load(sys.stdin)["error"]; sys.exit(e["code"] != "not-loaded")' \
			<"$TMPDIR/out" || fail "$command: $(cat "$TMPDIR/out")"
		;;
	*) expect 77 'not loaded.*modprobe gpumon' "$tool" $command ;;
	esac
done

load_mock devices=1 rings=2
load_gpumon
submit -n 10 -w
wait_idle
usage

step "a group and a ring that do not exist"
expect 1 'nosuch' "$tool" set nosuch on
expect 1 'nosuch' "$tool" set drm_sched off nosuch on
equal "$(stats_value groups drm_sched state)" attached "drm_sched after a set that failed"
expect 1 'nosuch' "$tool" stat --group nosuch
expect 1 'nosuch' "$tool" trace --group nosuch
equal "$(stats_value event_ring enabled value)" 0 "event ring after a trace of no group"

step "not root"
expect 77 'permission.*root' nobody "$tool" stat
expect 77 'permission.*root' nobody "$tool" set drm_sched off
expect 77 'permission.*root' nobody "$tool" set event-ring on
expect 77 'permission.*root' nobody "$tool" trace --duration 100ms
equal "$(stats_value groups drm_sched state)" attached "drm_sched after nobody"
equal "$(stats_value event_ring enabled value)" 0 "event ring after nobody"

step "in a network namespace"
expect 77 'network namespace' unshare -n "$tool" stat

step "event ring: its size while it is on"
"$tool" set event-ring on --size 64 >/dev/null
expect 1 'off' "$tool" set event-ring on --size 128
equal "$(stats_value event_ring size_kib value)" 64 "size after a refusal"
"$tool" set event-ring off >/dev/null

step "debugfs not mounted: trace says so, stat does not need it"
# shellcheck disable=SC2016
expect 77 'debugfs' unshare -m bash -c 'umount -l /sys/kernel/debug && exec "$0" trace --duration 100ms' "$tool"
equal "$(stats_value event_ring enabled value)" 0 "event ring after a trace that could not be"
# shellcheck disable=SC2016
unshare -m bash -c 'umount -l /sys/kernel/debug && exec "$0" stat' "$tool" >"$TMPDIR/out" ||
	fail "stat without debugfs"
grep -q 'mock_gpu.0' "$TMPDIR/out" || fail "stat without debugfs shows no ring: $(cat "$TMPDIR/out")"

step "a full device is noticed"
status=0
"$tool" stat --json >/dev/full 2>"$TMPDIR/err" || status=$?
equal "$status" 1 "exit status of stat into a full device"
grep -q 'No space left' "$TMPDIR/err" || fail "stat into a full device says: $(cat "$TMPDIR/err")"
step "done"
