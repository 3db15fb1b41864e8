# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# The help text of the command @name, out of what the preprocessor makes of its file: the Makefile has it put the
# words HELP_BEGINS and HELP_ENDS around the text's literals.

{
	all = all $0 " "
}

END {
	begin = index(all, "HELP_BEGINS ")
	end = index(all, " HELP_ENDS")
	if (!begin || !end) {
		print "cmd/cmd_" name ".c: PROFILE=small needs GPUMON_HELP() around its .help" >"/dev/stderr"
		exit 1
	}
	literals = substr(all, begin, end - begin)
	gsub(/\\"/, "\001", literals)
	n = split(literals, literal, "\"")
	for (i = 2; i <= n; i += 2)
		text = text literal[i]
	gsub(/\001/, "\"", text)
	gsub(/\\n/, "\n", text)
	printf "<!-- help %s -->\n%s<!-- end -->\n", name, text
}
