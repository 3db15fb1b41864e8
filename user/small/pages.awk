# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# As much of the pages as driver/metrics_model.c asks driver/metrics_meaning.c for: the headings of parts with
# statistics, and of their rows the names and the first sentence of what they mean, without marks.

/^## / {
	wanted = /^## (Module|Probes|Event ring)/
	heading = wanted ? $0 : ""
}
/^<!-- end -->/ {
	wanted = 0
}
/^<!-- (table |processes|causes)/ {
	wanted = 1
	heading = $0
}
wanted && /^\| *`/ {
	if (heading) {
		if (heading !~ /^## /)
			print "<!-- end -->"
		print heading
		heading = ""
	}
	n = split($0, cell, "|")
	meaning = cell[n - 1]
	gsub(/\]\([^)]*\)/, "", meaning)
	gsub(/[][`*]/, "", meaning)
	if ((end = index(meaning, ". ")) != 0)
		meaning = substr(meaning, 1, end - 1)
	gsub(/^ +| +$/, "", meaning)
	gsub(/ +/, "", cell[2])
	print "|" cell[2] "|" meaning "|"
}
