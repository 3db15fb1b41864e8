# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# Fish completion of gpumon-user, which says what a word can be: user/cmd/completion.c.

function __gpumon_user_words
    set -l before (commandline -opc)
    set -l program $before[1]
    set -e before[1]
    set -l current (commandline -ct)
    # Fish wants the whole word, with the name of the option.
    set -l name (string match -r -- '^--[^=]*=' $current)
    for line in ($program --complete $before "$current" 2>/dev/null)
        if test $line = :files
            printf "$name%s\n" (__fish_complete_path (string replace -r -- '^--[^=]*=' '' $current))
        else
            printf "$name%s\n" $line
        end
    end
end

complete -c gpumon-user -f -a '(__gpumon_user_words)'
