// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * printf() of musl computes with long doubles. arm64 has no instructions for them, but functions of libgcc, whose
 * subtraction has the code of its addition once more: 3.4 KB.
 */
#if defined(__aarch64__) && defined(GPUMON_STATIC)
long double __subtf3(long double a, long double b);

long double __subtf3(long double a, long double b)
{
	b = -b;
	/* Or the compiler sees that this is a subtraction, and calls this function for it. */
	__asm__("" : "+w"(b));
	return a + b;
}
#endif
