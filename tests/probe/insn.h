/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Instructions written by hand. LD_64, LD_MAP and LD_DATA are two elements of an array. */
#ifndef GPUMON_TESTS_PROBE_INSN_H
#define GPUMON_TESTS_PROBE_INSN_H

#include "gpuprog/object/instruction.h"

#define INSN(op, dst, src, offset, constant)  \
	((struct bpf_insn){ .code = (op),     \
			    .dst_reg = (dst), \
			    .src_reg = (src), \
			    .off = (offset),  \
			    .imm = (constant) })

/* OP is ADD, MOV, LSH and so on. */
#define ALU64_K(OP, dst, imm) INSN(BPF_ALU64 | BPF_##OP | BPF_K, dst, 0, 0, imm)
#define ALU64_X(OP, dst, src) INSN(BPF_ALU64 | BPF_##OP | BPF_X, dst, src, 0, 0)
#define ALU32_K(OP, dst, imm) INSN(BPF_ALU | BPF_##OP | BPF_K, dst, 0, 0, imm)
#define ALU32_X(OP, dst, src) INSN(BPF_ALU | BPF_##OP | BPF_X, dst, src, 0, 0)
#define MOV_K(dst, imm)	      ALU64_K(MOV, dst, imm)
#define MOV_X(dst, src)	      ALU64_X(MOV, dst, src)

/* SIZE is B, H, W or DW. */
#define LDX(SIZE, dst, src, off)	INSN(BPF_LDX | BPF_MEM | BPF_##SIZE, dst, src, off, 0)
#define STX(SIZE, dst, off, src)	INSN(BPF_STX | BPF_MEM | BPF_##SIZE, dst, src, off, 0)
#define ST(SIZE, dst, off, imm)		INSN(BPF_ST | BPF_MEM | BPF_##SIZE, dst, 0, off, imm)
#define ATOMIC(SIZE, op, dst, off, src) INSN(BPF_STX | BPF_ATOMIC | BPF_##SIZE, dst, src, off, op)

#define LD_HALVES(dst, src, low, high) \
	INSN(BPF_LD | BPF_IMM | BPF_DW, dst, src, 0, low), INSN(0, 0, 0, 0, high)
#define LD_64(dst, value) \
	LD_HALVES(dst, 0, (__s32)(value), (__s32)((unsigned long long)(value) >> 32))
#define LD_MAP(dst, map)       LD_HALVES(dst, BPF_PSEUDO_MAP_IDX, map, 0)
#define LD_DATA(dst, map, off) LD_HALVES(dst, BPF_PSEUDO_MAP_IDX_VALUE, map, off)

#define JMP_K(OP, dst, imm, off)   INSN(BPF_JMP | BPF_##OP | BPF_K, dst, 0, off, imm)
#define JMP_X(OP, dst, src, off)   INSN(BPF_JMP | BPF_##OP | BPF_X, dst, src, off, 0)
#define JMP32_K(OP, dst, imm, off) INSN(BPF_JMP32 | BPF_##OP | BPF_K, dst, 0, off, imm)
#define JMP32_X(OP, dst, src, off) INSN(BPF_JMP32 | BPF_##OP | BPF_X, dst, src, off, 0)
#define JA(off)			   INSN(BPF_JMP | BPF_JA, 0, 0, off, 0)
#define GOTOL(off)		   INSN(BPF_JMP32 | BPF_JA, 0, 0, 0, off)
#define CALL(helper)		   INSN(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define CALL_FUNCTION(off)	   INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, off)
#define EXIT			   INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

#endif /* GPUMON_TESTS_PROBE_INSN_H */
