# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# As much of the pages as driver/metrics_meaning.c finds something in: headings, and of the rows of statistics
# the names and the first sentence of what they mean.

/^## / {
	ended = rows = 1
	heading = $0
}
/^<!-- end -->/ {
	ended = 1
	rows = 0
}
/^<!-- [^e]/ {
	rows = 1
	heading = $0
}
rows && /^\| *`/ {
	if (heading) {
		if (ended && heading !~ /^## /)
			print "<!-- end -->"
		print heading
		heading = ""
		ended = 0
	}
	n = split($0, cell, "|")
	end = index(cell[n - 1], ". ")
	print "|" cell[2] "|" (end ? substr(cell[n - 1], 1, end) : cell[n - 1]) "|"
}
