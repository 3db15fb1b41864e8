// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Two libraries are built from this, which differ only in the size of a frame: the rule for a
 * return address in one is wrong for the same address in the other.
 */
#include "called.h"

#ifdef __x86_64__
#define TEXT_OF(x) #x
#define TEXT(x)	   TEXT_OF(x)
__asm__(".text\n.globl frame_call\n.type frame_call, @function\nframe_call:\n"
	"\t.cfi_startproc\n"
	"\t.byte 0x48, 0x81, 0xec\n\t.long " TEXT(
		FRAME_SIZE) "\n" /* sub $FRAME_SIZE, %rsp */
			    "\t.cfi_adjust_cfa_offset " TEXT(
				    FRAME_SIZE) "\n"
						"\tcall *%rdi\n"
						"\t.byte 0x48, 0x81, 0xc4\n\t.long " TEXT(
							FRAME_SIZE) "\n" /* add $FRAME_SIZE, %rsp */
								    "\t.cfi_adjust_cfa_offset -" TEXT(
									    FRAME_SIZE) "\n"
											"\tret\n\t.cfi_endproc\n.size frame_call, . - frame_call\n");
#else
void frame_call(void (*function)(void))
{
	volatile char space[FRAME_SIZE];

	space[0] = 1;
	function();
	space[1] = space[0];
}
#endif
