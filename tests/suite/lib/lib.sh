# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# For tests in shell: . "$(dirname "$0")/lib/lib.sh"
set -euo pipefail

stats=/sys/kernel/debug/gpumon/stats
# shellcheck disable=SC2034
account=/sys/kernel/debug/mock_gpu/account

fail()
{
	echo "FAILED: $*"
	exit 1
}

skip()
{
	echo "$*"
	exit 77
}

step()
{
	echo "[$(cut -d' ' -f1 /proc/uptime)] $*"
}

# equal IS SHOULD WHAT
equal()
{
	[ "$1" = "$2" ] || fail "$3: is '$1', should be '$2'"
}

# until_true SECONDS WHAT COMMAND...
until_true()
{
	local seconds=$1 what=$2 end
	shift 2
	end=$((SECONDS + seconds))
	until "$@"; do
		[ "$SECONDS" -le "$end" ] || fail "$what: not so after $seconds s"
		sleep 0.1
	done
}

load_mock()
{
	modprobe gpu-sched
	insmod "$GPUMON_BUILD/mock_gpu.ko" "$@"
}

load_gpumon()
{
	insmod "$GPUMON_BUILD/gpumon.ko" "$@"
}

submit()
{
	"$GPUMON_BUILD/mock_submit" "$@" </dev/null
}

# The scheduler freed every job, so every tracepoint has fired.
mock_idle()
{
	awk 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "alive") column = i; next }
		$column { busy = 1 } END { exit busy }' "$account"
}

wait_idle()
{
	until_true "${1:-60}" "the mock GPU is idle" mock_idle
}

# stats_value SECTION ROW COLUMN: one word of stats. ROW is the first word of the row, or the first
# two, separated by a blank.
stats_value()
{
	awk -v section="# $1" -v row="$2" -v column="$3" '
		/^# / { in_section = $0 == section; head = 1; next }
		!in_section { next }
		head { for (i = 1; i <= NF; i++) if ($i == column) at = i; head = 0; next }
		$1 == row || $1 " " $2 == row { print $at; exit }' "$stats"
}
