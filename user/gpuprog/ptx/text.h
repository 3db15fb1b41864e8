/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The text of a block while it is written: instructions, registers, labels. */
#ifndef GPUMON_GPUPROG_PTX_TEXT_H
#define GPUMON_GPUPROG_PTX_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "gpuprog/object/map_memory.h"
#include "translate.h"

/*
 * Registers have numbers, in three sets: %gd 64 bits, %gw 32 bits, %gp predicates. The first of %gd
 * are the program's own: R0 to R5, then R6 to R10 of each depth.
 */
#define TEXT_FRAME_REGS	 5
#define TEXT_FIRST_WIDE	 (6 + GPUMON_GPUPROG_MAX_DEPTH * TEXT_FRAME_REGS)
#define TEXT_FUEL_WORD	 0 /* number of %gw, while the block has loops */
#define TEXT_FIRST_LABEL (GPUMON_GPUPROG_MAX_STEPS + 3)
#define TEXT_LABEL_END	 GPUMON_GPUPROG_MAX_STEPS	/* behind the block's last instruction */
#define TEXT_LABEL_FUEL	 (GPUMON_GPUPROG_MAX_STEPS + 1) /* the limit of backward jumps */
#define TEXT_LABEL_MOVED (GPUMON_GPUPROG_MAX_STEPS + 2) /* what the thread has kept is not here */

/* Bytes of the stack that lie in one register: memory.h. */
struct text_cell {
	int16_t offset;
	uint8_t size;
	uint32_t reg; /* %gd above 4 bytes, else %gw */
};

struct text_frame {
	struct text_cell *cells; /* by rising offset */
	uint32_t cells_n;
	int16_t low; /* what lies in memory: offsets from @low to before @high */
	int16_t high;
};

/**
 * struct text - a block that is being written
 * @program, @facts, @target, @err: as given
 * @step: index of the step that is being written
 * @map: the map of the call that is being written: calls that may get several are written for each
 * @out: for the instructions; declarations come in front of them at the end
 * @wide, @word, @predicate, @label: next free number
 * @looked_up: registers with the result of a lookup in an array, a bit each: no null pointers if
 *             @exists
 * @exists: predicate
 * @end_used, @fuel_used, @moved_used: a jump leads to that label
 * @failed: @err is set
 * @frames: the stack, by depth
 */
struct text {
	const struct gpumon_gpuprog *program;
	const struct gpumon_gpuprog_fact *facts;
	const struct gpumon_gpuprog_target *target;
	struct gpumon_error *err;
	uint32_t step;
	uint32_t map;
	FILE *out;
	uint32_t wide;
	uint32_t word;
	uint32_t predicate;
	uint32_t label;
	uint64_t looked_up;
	uint32_t exists;
	bool end_used;
	bool fuel_used;
	bool moved_used;
	bool failed;
	struct text_frame frames[GPUMON_GPUPROG_MAX_DEPTH];
};

/**
 * text_emit - write one instruction
 * @text: block
 * @format: the instruction without its semicolon; in it $d, $w and $p stand for the number of a
 *          register, $l for that of a label, $i for an int, $u for a uint32_t, $x for a uint64_t, and
 *          $s for a text
 */
void text_emit(struct text *text, const char *format, ...);
/* Put a label here. */
void text_label(struct text *text, uint32_t label);

uint32_t text_wide(struct text *text);
uint32_t text_word(struct text *text);
uint32_t text_predicate(struct text *text);
uint32_t text_new_label(struct text *text);

/* The number of a program's register. */
uint32_t text_register(const struct gpumon_gpuprog_step *step, uint8_t reg);

/* Declare the registers that the block has used. */
void text_declare(const struct text *text, FILE *out);

/* Refuse the program at the present step. */
void text_refuse(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An entry of the table of addresses as a new %gd: 0 is the control block. */
uint32_t text_table(struct text *text, uint32_t entry);

/* Count losses: %gd of the address of the counter is a new one. @guard: a predicate, or -1. */
void text_lose(struct text *text, enum gpumon_gpuprog_loss loss, int guard);

/* Whether the program's threads keep their values in memory. */
bool text_keeps_in_memory(const struct text *text);

/* Whether the target has these. */
bool text_has_sync(const struct text *text);  /* shfl.sync and the like */
bool text_has_volta(const struct text *text); /* ld.acquire, st.release, match */

/* BPF_ALU and BPF_ALU64. */
void text_alu(struct text *text, const struct gpumon_gpuprog_step *step);

/* The condition of a BPF_JMP or BPF_JMP32, as a new predicate. */
uint32_t text_condition(struct text *text, const struct gpumon_gpuprog_step *step);

/* A call of a helper. */
void text_call(struct text *text, const struct gpumon_gpuprog_step *step);
/* Calls of gpumon_keep() and gpumon_kept(): registers of the kernel, or memory. */
void text_keep(struct text *text);
void text_kept(struct text *text);

#endif /* GPUMON_GPUPROG_PTX_TEXT_H */
