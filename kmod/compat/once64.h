/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * 64-bit words that CPUs read and write without a lock.
 *
 * A processor with 64 bits does so with plain loads and stores. On 32-bit ARM each access is one of the
 * kernel's atomic64_t: ldrexd and strexd, of which ARMv6K and later have that nobody sees half of a word;
 * with CONFIG_ARM_LPAE also ldrd and strd. There READ_ONCE() and WRITE_ONCE() of such a word do not
 * compile, since they would be two accesses where the kernel allows them: so none is forgotten.
 */
#ifndef GPUMON_COMPAT_ONCE64_H
#define GPUMON_COMPAT_ONCE64_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/types.h>

#ifdef CONFIG_64BIT
#define gpumon_read_once64(_word)		READ_ONCE(_word)
#define gpumon_write_once64(_word, _value)	WRITE_ONCE(_word, _value)
/* The callers say what these pair with. */
#define gpumon_load_acquire64(_word)		smp_load_acquire(_word)
/* The same. */
#define gpumon_store_release64(_word, _value)	smp_store_release(_word, _value)
#define gpumon_cmpxchg64(_word, _old, _new)	cmpxchg(_word, _old, _new)
#define gpumon_xchg64(_word, _value)		xchg(_word, _value)
/* Accesses that the compiler may move. */
#define gpumon_read_plain64(_word)		data_race(_word)
#define gpumon_write_plain64(_word, _value)	((_word) = (_value))
#else
#undef compiletime_assert_rwonce_type
#define compiletime_assert_rwonce_type(_type) compiletime_assert_atomic_type(_type)

#define gpumon_read_once64(_word)	   gpumon_compat_read64(&(_word))
#define gpumon_write_once64(_word, _value) gpumon_compat_write64(&(_word), _value)
#define gpumon_read_plain64		   gpumon_read_once64
#define gpumon_write_plain64		   gpumon_write_once64

static __always_inline u64 gpumon_compat_read64(const u64 *word)
{
	return atomic64_read((const atomic64_t *)word);
}

static __always_inline void gpumon_compat_write64(u64 *word, u64 value)
{
	atomic64_set((atomic64_t *)word, value);
}

static __always_inline u64 gpumon_load_acquire64(const u64 *word)
{
	u64 value = gpumon_compat_read64(word);

	/* As smp_load_acquire() has it on this architecture. */
	smp_mb();
	return value;
}

static __always_inline void gpumon_store_release64(u64 *word, u64 value)
{
	/* The same. */
	smp_mb();
	gpumon_compat_write64(word, value);
}

static __always_inline u64 gpumon_cmpxchg64(u64 *word, u64 old, u64 new)
{
	return atomic64_cmpxchg((atomic64_t *)word, old, new);
}

static __always_inline u64 gpumon_xchg64(u64 *word, u64 value)
{
	return atomic64_xchg((atomic64_t *)word, value);
}
#endif

/* Before "asm-generic/atomic: Add try_cmpxchg() fallbacks" only x86 has try_cmpxchg(). */
#if defined(CONFIG_64BIT) && defined(try_cmpxchg)
#define gpumon_try_cmpxchg64(_word, _old, _new) try_cmpxchg(_word, _old, _new)
#else
static __always_inline bool gpumon_try_cmpxchg64(u64 *word, u64 *old, u64 new)
{
	const u64 found = gpumon_cmpxchg64(word, *old, new);
	const bool swapped = found == *old;

	*old = found;
	return swapped;
}
#endif

#endif /* GPUMON_COMPAT_ONCE64_H */
