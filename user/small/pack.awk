# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#
# Packs a text for small/pages.c, in half of its bytes: again and again the pair of bytes that comes
# most often becomes one byte that the text has not. Writes C: the size, these pairs, and the packed text.
# Wants LC_ALL=C: bytes, not characters.

{
	text = text $0 "\n"
}

END {
	for (byte = 1; byte < 256; byte++) {
		number[sprintf("%c", byte)] = byte
		if (!index(text, sprintf("%c", byte)))
			unused[n_unused++] = byte
	}
	n = length(text)
	printf "#define UNPACKED_SIZE %d\n", n
	print "static const unsigned char pairs[256][2] = {"
	for (i = 1; i <= n; i++)
		at[i] = number[substr(text, i, 1)]
	for (u = 0; u < n_unused; u++) {
		split("", count)
		most = 0
		for (i = 1; i < n; i++) {
			pair = at[i] * 256 + at[i + 1]
			if (++count[pair] > most) {
				most = count[pair]
				best = pair
			}
		}
		# A pair takes two bytes itself.
		if (most < 4)
			break
		printf "\t[%d] = { %d, %d },\n", unused[u], int(best / 256), best % 256
		for (i = to = 1; i <= n; i++) {
			if (i < n && at[i] * 256 + at[i + 1] == best) {
				at[to++] = unused[u]
				i++
			} else {
				at[to++] = at[i]
			}
		}
		n = to - 1
	}
	print "};\nstatic const unsigned char packed[] = {"
	for (i = 1; i <= n; i++)
		printf "%d,%s", at[i], i % 24 ? "" : "\n"
	print "\n};"
}
