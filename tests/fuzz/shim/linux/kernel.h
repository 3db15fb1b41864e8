/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The parts of the kernel that the module's BTF reader needs, for userspace. */
#ifndef GPUMON_FUZZ_SHIM_KERNEL_H
#define GPUMON_FUZZ_SHIM_KERNEL_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include_next <linux/types.h>

/* The C library has both on any machine, the kernel only its own. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#undef __BIG_ENDIAN
#endif

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define S32_MAX			      INT32_MAX
#define CONFIG_64BIT		      1
#define BITS_PER_LONG		      64
#define BIT(n)			      (1UL << (n))
#define IS_ALIGNED(x, a)	      (((x) & ((a)-1)) == 0)
#define READ_ONCE(x)		      (x)
#define WRITE_ONCE(x, to)	      ((x) = (to))
#define smp_store_release(p, v)	      (*(p) = (v)) /* one thread */
#define likely(x)		      (x)
#define unlikely(x)		      (x)
#define __printf(a, b)		      __attribute__((format(printf, a, b)))
#define min(a, b)		      ((a) < (b) ? (a) : (b))
#define max(a, b)		      ((a) > (b) ? (a) : (b))
#define DIV_ROUND_UP(n, d)	      (((n) + (d)-1) / (d))
#define IS_ENABLED(CONFIG_option)     1
#define MODULE_NAME_LEN		      56
#define GFP_KERNEL		      0
#define check_add_overflow(a, b, sum) __builtin_add_overflow(a, b, sum)
#define ERR_PTR(error)		      ((void *)(intptr_t)(error))
#define PTR_ERR(pointer)	      ((intptr_t)(pointer))
#define IS_ERR(pointer)		      ((uintptr_t)(pointer) >= (uintptr_t)-4095)
#define IS_ERR_OR_NULL(pointer)	      (!(pointer) || IS_ERR(pointer))
#define vscnprintf		      fuzz_kernel_vscnprintf

#define kvmalloc_array(n, size, flags) fuzz_kernel_array(n, size, false)
#define kvcalloc(n, size, flags)       fuzz_kernel_array(n, size, true)
#define kvmalloc(size, flags)	       fuzz_kernel_array(1, size, false)
#define kmalloc(size, flags)	       fuzz_kernel_array(1, size, false)
#define krealloc(memory, size, flags)  realloc(memory, size)
#define kmemdup(from, size, flags)     memcpy(malloc(size), from, size)
#define kvfree			       free
#define kfree			       free
#define bitmap_free		       free
#define bitmap_zalloc(bits, flags)     fuzz_kernel_array((bits) / 64 + 1, 8, true)
#define bitmap_zero(bitmap, bits)      memset(bitmap, 0, (bits) / 8)
#define __set_bit(bit, bitmap)	       ((bitmap)[(bit) / 64] |= BIT((bit) % 64))
#define test_bit(bit, bitmap)	       ((bitmap)[(bit) / 64] & BIT((bit) % 64))
#define min_t(type, a, b)	       min((type)(a), (type)(b))

/* As in the kernel: a product that overflows is rejected, and unset memory is not zeroed. */
static inline void *fuzz_kernel_array(size_t n, size_t size, bool zero)
{
	void *array = size && n > SIZE_MAX / size ? NULL : malloc(n * size);

	if (array)
		memset(array, zero ? 0 : 0xa5, n * size);
	return array;
}

/* Returns the written length, not the wanted one. */
static inline int fuzz_kernel_vscnprintf(char *to, size_t size, const char *format, va_list args)
{
	int length = vsnprintf(to, size, format, args);

	return length < (int)size ? length : (int)size - 1;
}

static inline int __attribute__((format(printf, 3, 4)))
scnprintf(char *to, size_t size, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = fuzz_kernel_vscnprintf(to, size, format, args);
	va_end(args);
	return length;
}

static inline u32 full_name_hash(const void *salt, const char *name, size_t length)
{
	u32 hash = 2166136261u;

	(void)salt;
	while (length--)
		hash = (hash ^ (u8)*name++) * 16777619u;
	return hash;
}

static inline bool strstarts(const char *text, const char *begin)
{
	return !strncmp(text, begin, strlen(begin));
}

static inline long copy_from_kernel_nofault(void *to, const void *from, size_t size)
{
	memcpy(to, from, size);
	return 0;
}

#define strscpy(to, from, size) snprintf(to, size, "%s", from)

#endif /* GPUMON_FUZZ_SHIM_KERNEL_H */
