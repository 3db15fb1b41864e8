# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# Verdicts of tests in bash: one line for each test, which tests/check counts. verdict.py is the
# same for Python; tap.py is for programs that print TAP.
#
#   # shellcheck source=tests/lib/verdict.sh
#   . "$(dirname "$0")/../lib/verdict.sh"
#
#   ok NAME                 prints "ok NAME"
#   not_ok NAME WHY [LOG]   prints the end of the file LOG, indented, and "not ok NAME: WHY"
#   skip NAME REASON        prints "skip NAME: REASON"
#   verdict NAME COMMAND... ok if COMMAND succeeds; otherwise its output and "not ok"
#   result NAME WHY [LOG]   ok if WHY is empty, otherwise not_ok
#   show                    prints the last 60 lines of stdin, indented
#   verdict_end             the last command of a test: fails if a test failed
#
# NAME is FOLDER/TEST. A subshell has its own counters: a script with "... | ok NAME" needs "shopt
# -s lastpipe", or verdict_end does not count it.

verdict_passed=0 verdict_failed=0 verdict_skipped=0

show()
{
	tail -n 60 | sed 's/^/    /'
}

ok()
{
	echo "ok $1"
	verdict_passed=$((verdict_passed + 1))
}

not_ok()
{
	[ ! -f "${3:-}" ] || show <"$3"
	echo "not ok $1: ${2//$'\n'/ }"
	verdict_failed=$((verdict_failed + 1))
}

skip()
{
	echo "skip $1: ${2//$'\n'/ }"
	verdict_skipped=$((verdict_skipped + 1))
}

result()
{
	if [ -z "$2" ]; then
		ok "$1"
	else
		not_ok "$@"
	fi
}

# COMMAND may be a function of the script. As in every condition, set -e has no effect in it.
verdict()
{
	local name=$1 status=0 log start=$SECONDS

	shift
	log=$(mktemp)
	"$@" >"$log" 2>&1 </dev/null || status=$?
	if [ "$status" = 0 ]; then
		ok "$name$([ $((SECONDS - start)) -le 2 ] || echo " ($((SECONDS - start)) s)")"
	else
		not_ok "$name" "exit status $status" "$log"
	fi
	rm -f "$log"
}

verdict_end()
{
	[ "$verdict_failed" = 0 ]
}
