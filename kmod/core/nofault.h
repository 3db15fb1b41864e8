/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading memory that may not be there, inline: a probe reads two to five words of objects whose
 * layout is private, and copy_from_kernel_nofault() costs five times the load.
 */
#ifndef GPUMON_NOFAULT_H
#define GPUMON_NOFAULT_H

#include <linux/types.h>
#include <linux/uaccess.h>

/*
 * On other architectures there is no inline way or no cheap test of the address: the kernel's
 * function is called.
 */
#if defined(CONFIG_X86_64) && !defined(CONFIG_KMSAN)
#define GPUMON_INLINE_NOFAULT
#endif

#ifdef GPUMON_INLINE_NOFAULT
/*
 * Range of addresses that may be read. The kernel reports the trap of an address that is not
 * canonical, and does not survive that of the vsyscall page. Both lie outside of this range, and so
 * does user space.
 */
static __always_inline bool gpumon_nofault_allowed(const void *from)
{
	return (unsigned long)from - PAGE_OFFSET < MODULES_END - PAGE_OFFSET;
}

#define GPUMON_READ_NOFAULT(_type)                                                          \
	static __always_inline bool gpumon_read_nofault_##_type(void *to, const void *from) \
	{                                                                                   \
		pagefault_disable();                                                        \
		__get_kernel_nofault(to, from, _type, fault);                               \
		pagefault_enable();                                                         \
		return true;                                                                \
fault:                                                                                      \
		pagefault_enable();                                                         \
		return false;                                                               \
	}
GPUMON_READ_NOFAULT(u8)
GPUMON_READ_NOFAULT(u16)
GPUMON_READ_NOFAULT(u32)
GPUMON_READ_NOFAULT(u64)
#undef GPUMON_READ_NOFAULT
#endif

long gpumon_read_string_nofault(char *to, size_t size, const char *from);

/**
 * gpumon_read_nofault - copy memory that may not be there
 * @to: where to, undefined if it fails
 * @from: any value
 * @size: bytes; 1, 2, 4 and multiples of 8 are read inline where that is a constant
 *
 * Context: any.
 * Return: false if it cannot be read.
 */
static __always_inline bool gpumon_read_nofault(void *to, const void *from, size_t size)
{
#ifdef GPUMON_INLINE_NOFAULT
	size_t done;

	if (unlikely(!gpumon_nofault_allowed(from)))
		return false;
	if (size && size % 8 == 0 && size <= 64) {
		for (done = 0; done < size; done += 8)
			if (unlikely(!gpumon_read_nofault_u64(to + done, from + done)))
				return false;
		return true;
	}
	if (size == 4)
		return gpumon_read_nofault_u32(to, from);
	if (size == 2)
		return gpumon_read_nofault_u16(to, from);
	if (size == 1)
		return gpumon_read_nofault_u8(to, from);
#endif
	return !copy_from_kernel_nofault(to, from, size);
}

#endif /* GPUMON_NOFAULT_H */
