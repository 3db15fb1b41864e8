// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "warp.h"

uint32_t text_special(struct text *text, const char *name)
{
	uint32_t word = text_word(text);

	text_emit(text, "mov.u32 $w, $s", word, name);
	return word;
}

uint32_t text_active_mask(struct text *text)
{
	uint32_t mask = text_word(text), zero, always;

	if (text->target->isa >= 62) {
		text_emit(text, "activemask.b32 $w", mask);
		return mask;
	}
	zero = text_word(text);
	always = text_predicate(text);
	text_emit(text, "mov.b32 $w, 0", zero);
	text_emit(text, "setp.eq.u32 $p, $w, 0", always, zero);
	text_emit(text, "vote.ballot.b32 $w, $p", mask, always);
	return mask;
}

uint32_t text_lanes_before(struct text *text, uint32_t mask)
{
	uint32_t lower = text_special(text, "%lanemask_lt");

	text_emit(text, "and.b32 $w, $w, $w", lower, lower, mask);
	text_emit(text, "popc.b32 $w, $w", lower, lower);
	return lower;
}

uint32_t text_shuffle(struct text *text, uint32_t mask, uint32_t value, uint32_t lane)
{
	uint32_t result = text_word(text);

	text_emit(text, "shfl.sync.idx.b32 $w, $w, $w, 31, $w", result, value, lane, mask);
	return result;
}

/* Mask of the lanes with this predicate, as a new %gw. All lanes of the mask run this. */
static uint32_t ballot(struct text *text, uint32_t mask, uint32_t predicate)
{
	uint32_t result = text_word(text);

	text_emit(text, "vote.sync.ballot.b32 $w, $p, $w", result, predicate, mask);
	return result;
}

/* x of the whole grid, for one of the dimensions. */
static uint32_t grid_place(struct text *text, const char *block, const char *size,
			   const char *thread)
{
	uint32_t place = text_wide(text), a = text_special(text, block);
	uint32_t b = text_special(text, size), c = text_special(text, thread);

	text_emit(text, "cvt.u64.u32 $d, $w", place, c);
	text_emit(text, "mad.wide.u32 $d, $w, $w, $d", place, a, b, place);
	return place;
}

static uint32_t product(struct text *text, const char *left, const char *right)
{
	uint32_t result = text_wide(text), a = text_special(text, left);
	uint32_t b = text_special(text, right);

	text_emit(text, "mul.wide.u32 $d, $w, $w", result, a, b);
	return result;
}

/* Most grids are a row of rows: then the rest need not be computed, which is worth a jump. */
static uint32_t one_dimension(struct text *text)
{
	uint32_t a = text_special(text, "%ntid.y"), b = text_special(text, "%ntid.z");
	uint32_t c = text_special(text, "%nctaid.y"), d = text_special(text, "%nctaid.z");
	uint32_t one = text_predicate(text);

	text_emit(text, "or.b32 $w, $w, $w", a, a, b);
	text_emit(text, "or.b32 $w, $w, $w", c, c, d);
	text_emit(text, "or.b32 $w, $w, $w", a, a, c);
	text_emit(text, "setp.eq.u32 $p, $w, 1", one, a);
	return one;
}

uint32_t text_thread(struct text *text)
{
	uint32_t x = grid_place(text, "%ctaid.x", "%ntid.x", "%tid.x"), y, z, rows, columns;
	uint32_t one = one_dimension(text), end = text_new_label(text);

	text_emit(text, "@$p bra $l", one, end);
	y = grid_place(text, "%ctaid.y", "%ntid.y", "%tid.y");
	z = grid_place(text, "%ctaid.z", "%ntid.z", "%tid.z");
	rows = product(text, "%nctaid.y", "%ntid.y");
	columns = product(text, "%nctaid.x", "%ntid.x");
	text_emit(text, "mad.lo.s64 $d, $d, $d, $d", y, z, rows, y);
	text_emit(text, "mad.lo.s64 $d, $d, $d, $d", x, y, columns, x);
	text_label(text, end);
	return x;
}

uint32_t text_block(struct text *text)
{
	/* At most 2^16 by 2^16 rows. */
	uint32_t row = text_special(text, "%ctaid.y"), plane = text_special(text, "%ctaid.z");
	uint32_t rows = text_special(text, "%nctaid.y"), column = text_special(text, "%ctaid.x");
	uint32_t columns = text_special(text, "%nctaid.x"), result = text_wide(text);

	text_emit(text, "mad.lo.u32 $w, $w, $w, $w", row, plane, rows, row);
	text_emit(text, "cvt.u64.u32 $d, $w", result, column);
	text_emit(text, "mad.wide.u32 $d, $w, $w, $d", result, row, columns, result);
	return result;
}

uint32_t text_warp_in_block(struct text *text)
{
	uint32_t x = text_special(text, "%tid.x"), y = text_special(text, "%tid.y");
	uint32_t z = text_special(text, "%tid.z"), columns = text_special(text, "%ntid.x");
	uint32_t rows = text_special(text, "%ntid.y"), result = text_wide(text);

	text_emit(text, "mad.lo.u32 $w, $w, $w, $w", y, z, rows, y);
	text_emit(text, "mad.lo.u32 $w, $w, $w, $w", y, y, columns, x);
	text_emit(text, "shr.u32 $w, $w, 5", y, y);
	text_emit(text, "cvt.u64.u32 $d, $w", result, y);
	return result;
}

/*
 * The lanes of @singles whose sector no earlier one of them has: their count, as a new %gw.
 */
static uint32_t distinct_by_match(struct text *text, uint32_t mask, uint32_t sector,
				  uint32_t single, uint32_t singles)
{
	uint32_t same = text_word(text), first = text_predicate(text);

	text_emit(text, "match.any.sync.b64 $w, $d, $w", same, sector, mask);
	text_emit(text, "and.b32 $w, $w, $w", same, same, singles);
	text_emit(text, "setp.eq.and.u32 $p, $w, 0, $p", first, text_lanes_before(text, same),
		  single);
	same = ballot(text, mask, first);
	text_emit(text, "popc.b32 $w, $w", same, same);
	return same;
}

/* Count the sectors with a turn of a loop for each distinct one. */
static uint32_t distinct_by_loop(struct text *text, uint32_t mask, uint32_t sector, uint32_t single,
				 uint32_t singles)
{
	uint32_t left = text_word(text), low = text_word(text), high = text_word(text);
	uint32_t lane = text_word(text), count = text_word(text), other = text_wide(text);
	uint32_t same = text_predicate(text), none = text_predicate(text), found;
	uint32_t low_there, high_there;
	uint32_t begin = text_new_label(text), end = text_new_label(text);

	text_emit(text, "mov.b32 $w, $w", left, singles);
	text_emit(text, "mov.b32 $w, 0", count);
	text_emit(text, "mov.b64 {$w, $w}, $d", low, high, sector);
	text_label(text, begin);
	text_emit(text, "setp.eq.u32 $p, $w, 0", none, left);
	text_emit(text, "@$p bra $l", none, end);
	text_emit(text, "bfind.u32 $w, $w", lane, left);
	low_there = text_shuffle(text, mask, low, lane);
	high_there = text_shuffle(text, mask, high, lane);
	text_emit(text, "mov.b64 $d, {$w, $w}", other, low_there, high_there);
	text_emit(text, "setp.eq.and.u64 $p, $d, $d, $p", same, other, sector, single);
	found = ballot(text, mask, same);
	text_emit(text, "xor.b32 $w, $w, $w", left, left, found);
	text_emit(text, "add.u32 $w, $w, 1", count, count);
	text_emit(text, "bra $l", begin);
	text_label(text, end);
	return count;
}

/* Add the counts of the lanes of @others to @total. */
static void add_others(struct text *text, uint32_t mask, uint32_t others, uint32_t count,
		       uint32_t total)
{
	uint32_t lane = text_word(text), bit = text_word(text), none = text_predicate(text);
	uint32_t begin = text_new_label(text), end = text_new_label(text);

	text_label(text, begin);
	text_emit(text, "setp.eq.u32 $p, $w, 0", none, others);
	text_emit(text, "@$p bra $l", none, end);
	text_emit(text, "bfind.u32 $w, $w", lane, others);
	text_emit(text, "add.u32 $w, $w, $w", total, total, text_shuffle(text, mask, count, lane));
	text_emit(text, "mov.b32 $w, 1", bit);
	text_emit(text, "shl.b32 $w, $w, $w", bit, bit, lane);
	text_emit(text, "xor.b32 $w, $w, $w", others, others, bit);
	text_emit(text, "bra $l", begin);
	text_label(text, end);
}

/*
 * Most warps access rising addresses: then a sector is a new one if the lane before has another. Where
 * all lanes have one sector each, and rise, @total is their count, and a jump leads to @end.
 */
static void distinct_by_neighbour(struct text *text, uint32_t mask, uint32_t sector,
				  uint32_t single, uint32_t total, uint32_t end)
{
	uint32_t lower = text_special(text, "%lanemask_lt"), lane = text_special(text, "%laneid");
	uint32_t leads = text_predicate(text), low = text_word(text), high = text_word(text);
	uint32_t rises = text_predicate(text), differs = text_predicate(text), nearest, before;

	text_emit(text, "and.b32 $w, $w, $w", lower, lower, mask);
	text_emit(text, "setp.eq.u32 $p, $w, 0", leads, lower);
	nearest = text_word(text);
	text_emit(text, "bfind.u32 $w, $w", nearest, lower);
	text_emit(text, "selp.b32 $w, $w, $w, $p", lane, lane, nearest, leads);
	text_emit(text, "mov.b64 {$w, $w}, $d", low, high, sector);
	low = text_shuffle(text, mask, low, lane);
	high = text_shuffle(text, mask, high, lane);
	before = text_wide(text);
	text_emit(text, "mov.b64 $d, {$w, $w}", before, low, high);
	text_emit(text, "setp.le.u64 $p, $d, $d", rises, before, sector);
	text_emit(text, "and.pred $p, $p, $p", rises, rises, single);
	text_emit(text, "setp.ne.u64 $p, $d, $d", differs, before, sector);
	text_emit(text, "or.pred $p, $p, $p", differs, differs, leads);
	text_emit(text, "popc.b32 $w, $w", total, ballot(text, mask, differs));
	text_emit(text, "setp.eq.u32 $p, $w, $w", leads, ballot(text, mask, rises), mask);
	text_emit(text, "@$p bra $l", leads, end);
}

static bool refuse_without_sync(struct text *text, const char *helper)
{
	if (text_has_sync(text))
		return false;
	text_refuse(text, "%s needs PTX 6.0, and the kernel is in PTX %u.%u: leave this kernel out",
		    helper, text->target->isa / 10, text->target->isa % 10);
	return true;
}

uint32_t text_sectors(struct text *text, uint32_t address, uint32_t size)
{
	uint32_t first = text_wide(text), last = text_wide(text), result = text_wide(text);
	uint32_t single = text_predicate(text), count = text_word(text), others = text_word(text);
	uint32_t total = text_word(text), end = text_new_label(text), mask, singles, slow;

	if (refuse_without_sync(text, "gpumon_sectors"))
		return result;
	mask = text_active_mask(text);
	text_emit(text, "shr.u64 $d, $d, 5", first, address);
	text_emit(text, "max.u64 $d, $d, 1", last, size);
	text_emit(text, "add.s64 $d, $d, $d", last, last, address);
	text_emit(text, "sub.s64 $d, $d, 1", last, last);
	text_emit(text, "shr.u64 $d, $d, 5", last, last);
	text_emit(text, "setp.eq.u64 $p, $d, $d", single, first, last);
	distinct_by_neighbour(text, mask, first, single, total, end);
	text_emit(text, "sub.s64 $d, $d, $d", last, last, first);
	text_emit(text, "cvt.u32.u64 $w, $d", count, last);
	text_emit(text, "add.u32 $w, $w, 1", count, count);
	singles = ballot(text, mask, single);
	text_emit(text, "xor.b32 $w, $w, $w", others, singles, mask);
	slow = text_has_volta(text) ? distinct_by_match(text, mask, first, single, singles) :
				      distinct_by_loop(text, mask, first, single, singles);
	text_emit(text, "mov.b32 $w, $w", total, slow);
	add_others(text, mask, others, count, total);
	text_label(text, end);
	text_emit(text, "cvt.u64.u32 $d, $w", result, total);
	return result;
}

/* Whether all lanes of the mask have the same %gd: a new predicate. */
static uint32_t same_in_warp(struct text *text, uint32_t mask, uint32_t value)
{
	uint32_t same = text_predicate(text), low, high, first, low_there, high_there;

	if (text_has_volta(text)) {
		text_emit(text, "match.all.sync.b64 _|$p, $d, $w", same, value, mask);
		return same;
	}
	low = text_word(text);
	high = text_word(text);
	first = text_word(text);
	text_emit(text, "mov.b64 {$w, $w}, $d", low, high, value);
	text_emit(text, "bfind.u32 $w, $w", first, mask);
	low_there = text_shuffle(text, mask, low, first);
	high_there = text_shuffle(text, mask, high, first);
	text_emit(text, "setp.eq.u32 $p, $w, $w", same, low, low_there);
	text_emit(text, "setp.eq.and.u32 $p, $w, $w, $p", same, high, high_there, same);
	text_emit(text, "setp.eq.u32 $p, $w, $w", same, ballot(text, mask, same), mask);
	return same;
}

/*
 * If each lane's address less its offset in the piece is the same, the warp accesses one piece.
 * Addresses of GPUs have fewer than 58 bits, so the size fits above them: lanes of different sizes
 * differ. A condition on the size alone costs nothing where the size is a constant.
 */
uint32_t text_contiguous(struct text *text, uint32_t address, uint32_t size)
{
	uint32_t result = text_wide(text), begin = text_wide(text), rest = text_wide(text);
	uint32_t low = text_word(text), high = text_word(text), mark = text_word(text);
	uint32_t fits = text_predicate(text), same, mask;

	if (refuse_without_sync(text, "gpumon_contiguous"))
		return result;
	mask = text_active_mask(text);
	text_emit(text, "cvt.u32.u64 $w, $d", low, size);
	text_emit(text, "mul.wide.u32 $d, $w, $w", begin, text_special(text, "%laneid"), low);
	text_emit(text, "sub.s64 $d, $d, $d", begin, address, begin);
	text_emit(text, "mov.b64 {$w, $w}, $d", low, high, begin);
	text_emit(text, "min.u64 $d, $d, 32", begin, size);
	text_emit(text, "cvt.u32.u64 $w, $d", mark, begin);
	text_emit(text, "shl.b32 $w, $w, 26", mark, mark);
	text_emit(text, "add.u32 $w, $w, $w", high, high, mark);
	text_emit(text, "mov.b64 $d, {$w, $w}", begin, low, high);
	same = same_in_warp(text, mask, begin);
	text_emit(text, "sub.s64 $d, $d, 1", begin, size);
	text_emit(text, "setp.le.u64 $p, $d, 15", fits, begin);
	text_emit(text, "and.b64 $d, $d, $d", rest, begin, size);
	text_emit(text, "setp.eq.and.u64 $p, $d, 0, $p", fits, rest, fits);
	text_emit(text, "setp.eq.and.u32 $p, $w, 0xffffffff, $p", same, mask, same);
	text_emit(text, "and.pred $p, $p, $p", fits, fits, same);
	text_emit(text, "selp.b64 $d, 1, 0, $p", result, fits);
	return result;
}
