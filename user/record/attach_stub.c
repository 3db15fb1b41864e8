// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stddef.h>

#include "attach_remote.h"
#include "attach_stub.h"

#ifdef __x86_64__

/*
 * What runs in the process that is attached to. It is copied there, so it refers to nothing but its argument.
 *
 * gpumon_stub_thread(struct gpumon_remote_arguments *) is the first function of the new thread. It waits for
 * answers by short sleeps, because a futex would need a call of ours in the process.
 *
 * gpumon_stub_back is where pthread_create() returns to, in the program's own thread: %rbx has the arguments.
 * getpid() is there to be stopped at, rt_sigreturn() brings the thread back if nobody stops it.
 */
#define STRING(x)  #x
#define EXPAND(x)  STRING(x)
#define OFF(field) EXPAND(GPUMON_STUB_##field)

__asm__(".pushsection .rodata\n"
	".balign 16\n"
	".globl gpumon_stub_begin, gpumon_stub_back, gpumon_stub_end\n"
	".hidden gpumon_stub_begin, gpumon_stub_back, gpumon_stub_end\n"
	"gpumon_stub_begin:\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	sub $24, %rsp\n"
	"	mov %rdi, %rbx\n"
	"	mov %fs:0x10, %rdi\n"
	"	call *" OFF(
		DETACH) "(%rbx)\n"
			"	cmpl $0, " OFF(
				MEMORY_FILE) "(%rbx)\n"
					     "	je 2f\n"
					     /* memfd_create(): MFD_EXEC is refused by kernels that do not know it. */
					     "	mov $319, %eax\n"
					     "	lea " OFF(
						     NAME) "(%rbx), %rdi\n"
							   "	mov $0x11, %esi\n"
							   "	syscall\n"
							   "	cmp $-22, %rax\n"
							   "	jne 1f\n"
							   "	mov $319, %eax\n"
							   "	lea " OFF(
								   NAME) "(%rbx), %rdi\n"
									 "	mov $1, %esi\n"
									 "	syscall\n"
									 "1:	mov %eax, " OFF(
										 FILE) "(%rbx)\n"
										       "	mov $3, %r12d\n"
										       "	test %eax, %eax\n"
										       "	js 7f\n"
										       "	movl $1, " OFF(
											       STEP) "(%rbx)\n"
												     "	call 8f\n"
												     "	cmp $1, %eax\n"
												     "	je 2f\n"
												     "	mov %eax, %r12d\n"
												     "	call 6f\n"
												     "	mov %r12d, %eax\n"
												     "	jmp 5f\n"
												     "2:	lea " OFF(
													     PATH) "(%rbx), %rdi\n"
														   "	mov " OFF(
															   MODE) "(%rbx), %esi\n"
																 "	call *" OFF(
																	 DLOPEN) "(%rbx)\n"
																		 "	mov %rax, %r12\n"
																		 "	call 6f\n"
																		 "	test %r12, %r12\n"
																		 "	jnz 3f\n"
																		 /* The loader's text, before the thread and with it the text is gone. */
																		 "	mov $4, %r12d\n"
																		 "	cmpq $0, " OFF(
																			 DLERROR) "(%rbx)\n"
																				  "	je 7f\n"
																				  "	call *" OFF(
																					  DLERROR) "(%rbx)\n"
																						   "	test %rax, %rax\n"
																						   "	jz 7f\n"
																						   "	xor %ecx, %ecx\n"
																						   "21:	movb (%rax,%rcx), %dl\n"
																						   "	movb %dl, " OFF(
																							   TEXT) "(%rbx,%rcx)\n"
																								 "	inc %ecx\n"
																								 "	test %dl, %dl\n"
																								 "	jz 7f\n"
																								 "	cmp $510, %ecx\n"
																								 "	jb 21b\n"
																								 "	jmp 7f\n"
																								 "3:	mov %r12, %rdi\n"
																								 "	lea " OFF(
																									 SYMBOL) "(%rbx), %rsi\n"
																										 "	call *" OFF(
																											 DLSYM) "(%rbx)\n"
																												"	mov $5, %r12d\n"
																												"	test %rax, %rax\n"
																												"	jz 7f\n"
																												"	call *%rax\n"
																												"	mov %eax, " OFF(
																													RESULT) "(%rbx)\n"
																														"	mov $2, %r12d\n"
																														"7:	mov %r12d, " OFF(
																															STEP) "(%rbx)\n"
																															      "	call 8f\n"
																															      /* munmap() returns to where this function would: nothing here is there any more. */
																															      "5:	add $24, %rsp\n"
																															      "	cmp $2, %eax\n"
																															      "	mov " OFF(
																																      MUNMAP) "(%rbx), %rax\n"
																																	      "	mov " OFF(
																																		      MEMORY) "(%rbx), %rdi\n"
																																			      "	mov " OFF(
																																				      SIZE) "(%rbx), %rsi\n"
																																					    "	pop %r12\n"
																																					    "	pop %rbx\n"
																																					    "	je 51f\n"
																																					    "	xor %eax, %eax\n"
																																					    "	ret\n"
																																					    "51:	jmp *%rax\n"
																																					    /* Close the file. */
																																					    "6:	cmpl $0, " OFF(
																																						    MEMORY_FILE) "(%rbx)\n"
																																								 "	je 61f\n"
																																								 "	mov $3, %eax\n"
																																								 "	mov " OFF(
																																									 FILE) "(%rbx), %edi\n"
																																									       "	syscall\n"
																																									       "61:	ret\n"
																																									       /* Wait for an answer, take it, return it; 0: there is none. nanosleep() of a millisecond. */
																																									       "8:	push %r12\n"
																																									       "	sub $16, %rsp\n"
																																									       "	mov " OFF(
																																										       WAITS) "(%rbx), %r12d\n"
																																											      "81:	xor %eax, %eax\n"
																																											      "	xchg %eax, " OFF(
																																												      ANSWER) "(%rbx)\n"
																																													      "	test %eax, %eax\n"
																																													      "	jnz 82f\n"
																																													      "	movq $0, (%rsp)\n"
																																													      "	movq $1000000, 8(%rsp)\n"
																																													      "	mov $35, %eax\n"
																																													      "	mov %rsp, %rdi\n"
																																													      "	xor %esi, %esi\n"
																																													      "	syscall\n"
																																													      "	xor %eax, %eax\n"
																																													      "	dec %r12d\n"
																																													      "	jnz 81b\n"
																																													      "82:	add $16, %rsp\n"
																																													      "	pop %r12\n"
																																													      "	ret\n"
																																													      "gpumon_stub_back:\n"
																																													      "	mov %eax, " OFF(
																																														      CREATED) "(%rbx)\n"
																																															       "	mov $39, %eax\n"
																																															       "	syscall\n"
																																															       "	mov $15, %eax\n"
																																															       "	syscall\n"
																																															       "	hlt\n"
																																															       "gpumon_stub_end:\n"
																																															       ".popsection\n");

#define CHECK(name, field)                                                                    \
	_Static_assert(GPUMON_STUB_##name == offsetof(struct gpumon_remote_arguments, field), \
		       "offset of " #field)

CHECK(CREATED, created);
CHECK(STEP, step);
CHECK(DLOPEN, dlopen);
CHECK(DLSYM, dlsym);
CHECK(DLERROR, dlerror);
CHECK(DETACH, pthread_detach);
CHECK(MUNMAP, munmap);
CHECK(MEMORY, memory);
CHECK(SIZE, memory_size);
CHECK(MODE, mode);
CHECK(ANSWER, answer);
CHECK(MEMORY_FILE, memory_file);
CHECK(FILE, file);
CHECK(RESULT, result);
CHECK(WAITS, waits);
CHECK(SYMBOL, symbol);
CHECK(NAME, name);
CHECK(PATH, path);
CHECK(TEXT, text);

#endif
