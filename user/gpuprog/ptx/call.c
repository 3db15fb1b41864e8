// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "gpuprog/object/helper.h"
#include "step.h"
#include "map.h"
#include "warp.h"

#define RESULT 0 /* R0 */

static void result_word(struct text *text, uint32_t word)
{
	text_emit(text, "cvt.u64.u32 $d, $w", RESULT, word);
}

/* A special register of three dimensions, through three pointers. */
static void write_dimensions(struct text *text, const char *name)
{
	static const char axes[] = "xyz";
	char whole[16];
	uint32_t word, wide, i;
	struct text_place place;

	for (i = 0; i < 3; i++) {
		snprintf(whole, sizeof(whole), "%s.%c", name, axes[i]);
		word = text_special(text, whole);
		wide = text_wide(text);
		text_emit(text, "cvt.u64.u32 $d, $w", wide, word);
		place = text_place_open(text, &text->facts[text->step].arguments[i], i + 1, 0, 8);
		text_place_store(text, &place, 0, 8, wide);
	}
	text_emit(text, "mov.b64 $d, 0", RESULT);
}

static void is_leader(struct text *text)
{
	uint32_t before = text_lanes_before(text, text_active_mask(text));
	uint32_t first = text_predicate(text);

	text_emit(text, "setp.eq.u32 $p, $w, 0", first, before);
	text_emit(text, "selp.b64 $d, 1, 0, $p", RESULT, first);
}

static void active_lanes(struct text *text)
{
	uint32_t mask = text_active_mask(text);

	text_emit(text, "popc.b32 $w, $w", mask, mask);
	result_word(text, mask);
}

static void pid_tgid(struct text *text)
{
	uint32_t control = text_table(text, 0);

	text_emit(text, "ld.global.u64 $d, [$d+$u]", RESULT, control,
		  (uint32_t)offsetof(struct gpumon_probe_control, pid_tgid));
}

static void call_place(struct text *text, int32_t id)
{
	switch (id) {
	case 503:
		write_dimensions(text, "%ctaid");
		break;
	case 504:
		write_dimensions(text, "%ntid");
		break;
	case 505:
		write_dimensions(text, "%tid");
		break;
	case 508:
		write_dimensions(text, "%nctaid");
		break;
	case 509:
		result_word(text, text_special(text, "%smid"));
		break;
	case 510:
		result_word(text, text_special(text, "%warpid"));
		break;
	case 511:
		result_word(text, text_special(text, "%laneid"));
		break;
	case 607:
		text_emit(text, "cvt.u64.u32 $d, $s", RESULT, GPUMON_PROBE_KERNEL_REG);
		break;
	case 608:
		text_emit(text, "mov.b64 $d, $d", RESULT, text_thread(text));
		break;
	case 609:
		text_emit(text, "mov.b64 $d, $d", RESULT, text_block(text));
		break;
	case 610:
		text_emit(text, "mov.b64 $d, $d", RESULT, text_warp_in_block(text));
		break;
	default:
		text_refuse(text, "helper %d is not known", id);
	}
}

static void write_call(struct text *text, const struct gpumon_probe_step *step)
{
	switch (step->imm) {
	case BPF_FUNC_map_lookup_elem:
		text_map_lookup(text);
		break;
	case BPF_FUNC_map_update_elem:
		text_map_update(text);
		break;
	case BPF_FUNC_map_delete_elem:
		/* Elements of arrays cannot be deleted: there is no such call of this helper. */
		text_hash_delete(text);
		break;
	case BPF_FUNC_trace_printk:
	case 501:
		text_ring_print(text);
		break;
	case BPF_FUNC_get_current_pid_tgid:
		pid_tgid(text);
		break;
	case BPF_FUNC_perf_event_output:
		text_ring_output(text, 3, -TEXT_ENOSPC);
		break;
	case BPF_FUNC_ringbuf_output:
		text_ring_output(text, 1, -TEXT_EAGAIN);
		break;
	case 502:
		text_emit(text, "mov.u64 $d, %globaltimer", RESULT);
		break;
	case 506:
		text_emit(text, "membar.sys");
		text_emit(text, "mov.b64 $d, 0", RESULT);
		break;
	case 507:
		if (text->target->patch)
			text_refuse(text, "a patch of machine code cannot end a thread: leave out "
					  "bpf_cuda_exit, or use a kernel with PTX");
		text_emit(text, "exit");
		break;
	case 600:
		text_map_count(text);
		break;
	case 601:
		text_map_histogram(text);
		break;
	case 602:
		is_leader(text);
		break;
	case 603:
		active_lanes(text);
		break;
	case 604:
		text_emit(text, "mov.u64 $d, %clock64", RESULT);
		break;
	case 605:
		text_keep(text);
		break;
	case 606:
		text_kept(text);
		break;
	case 611:
		text_emit(text, "mov.b64 $d, $d", RESULT, text_sectors(text, 1, 2));
		break;
	case 612:
		text_emit(text, "mov.b64 $d, $d", RESULT, text_contiguous(text, 1, 2));
		break;
	default:
		call_place(text, step->imm);
	}
}

/* Which argument is a map, from 0, or -1. */
static int map_argument(const struct gpumon_probe_step *step)
{
	const struct gpumon_probe_helper *helper = gpumon_probe_helper_find(step->imm);
	int i;

	for (i = 0; helper && i < 5; i++)
		if (helper->arguments[i] == GPUMON_PROBE_ARG_MAP)
			return i;
	return -1;
}

/* clang makes one call of two that differ in the map alone: the text has one for each map again. */
void text_call(struct text *text, const struct gpumon_probe_step *step)
{
	int argument = map_argument(step);
	uint64_t left = argument < 0 ? 0 : text->facts[text->step].arguments[argument].maps;
	uint32_t end = 0, next = 0, differs;
	bool several = left & (left - 1);

	if (several)
		end = text_new_label(text);
	do {
		text->map = left ? (uint32_t)__builtin_ctzll(left) : 0;
		left &= left - 1;
		if (left) {
			next = text_new_label(text);
			differs = text_predicate(text);
			text_emit(text, "setp.ne.u64 $p, $d, $d", differs, argument + 1,
				  text_map_address(text, text->map));
			text_emit(text, "@$p bra $l", differs, next);
		}
		write_call(text, step);
		if (left) {
			text_emit(text, "bra $l", end);
			text_label(text, next);
		}
	} while (left);
	if (several) {
		text_label(text, end);
		text->looked_up = 0;
	}
}
