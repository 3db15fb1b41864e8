# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# shellcheck shell=bash
#
# Bash completion of gpumon-user, which says what a word can be: user/cmd/completion.c.

_gpumon_user() {
	local current=${COMP_WORDS[COMP_CWORD]} word

	COMPREPLY=()
	while IFS=$'\t' read -r word _; do
		case $word in
		:files) compopt -o default ;;
		# Bash takes the "=" of --name=value for a word.
		"${current#=}"*) COMPREPLY+=("$word") ;;
		esac
	done < <("$1" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
	[[ ${COMPREPLY[*]} != *[=:] ]] || compopt -o nospace
}

complete -F _gpumon_user gpumon-user
