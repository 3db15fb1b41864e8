#compdef gpumon-user
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# Zsh completion of gpumon-user, which says what a word can be: user/cmd/completion.c.

local program=${(Q)words[1]} line word files
local -a before candidates unfinished

(( CURRENT < 3 )) || before=("${(@Q)words[2,CURRENT-1]}")
for line in "${(@f)$("$program" --complete "${before[@]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
	word=${${line%%$'\t'*}//:/\\:}
	case $line in
	:files) files=1 ;;
	*[=:]$'\t'*) unfinished+=("$word:${line#*$'\t'}") ;;
	?*) candidates+=("$word:${line#*$'\t'}") ;;
	esac
done
# What is completed is the value.
[[ $PREFIX != --*=* ]] || compset -P '*='
_describe gpumon-user candidates -- unfinished -S ''
[[ -z $files ]] || _files
