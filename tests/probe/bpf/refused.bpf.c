// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Objects that are refused, one for each "case": the Makefile compiles each by itself, and the test
 * finds the text behind its name in the message.
 */
#include "../../../bpf/gpu/gpumon_gpu.h"

#define KEEP volatile

#define ARRAY(name, ...)                          \
	struct {                                  \
		__VA_ARGS__                       \
	} name SEC(".maps");                      \
	SEC("gpu/entry")                          \
	int entry(void *ctx)                      \
	{                                         \
		return gpumon_count(&name, 0, 1); \
	}

#ifdef CASE_section_unknown /* section "gpu/begin": no such place for a program on the GPU is known */
SEC("gpu/begin")
int entry(void *ctx)
{
	return 0;
}
#endif

#ifdef CASE_section_of_cpu /* cuda__launch: section "uprobe/x:y": no such place */
SEC("uprobe/x:y")
int cuda__launch(void *ctx)
{
	return 0;
}
#endif

#ifdef CASE_section_without_kernel /* section "kprobe": it names no kernel */
SEC("kprobe")
int cuda__entry(void *ctx)
{
	return 0;
}
#endif

#ifdef CASE_section_empty_kernel /* section "kprobe/": behind the slash there have to be */
SEC("kprobe/")
int cuda__entry(void *ctx)
{
	return 0;
}
#endif

#ifdef CASE_section_two_commas /* section "gpu/exit/a,,b": behind the slash there have to be */
SEC("gpu/exit/a,,b")
int entry(void *ctx)
{
	return 0;
}
#endif

#ifdef CASE_section_without_function /* section "gpu/function": it names no function */
SEC("gpu/function")
int entry(void *ctx)
{
	return 0;
}
#endif

#ifdef CASE_section_run_of_kernel /* section "gpu/run/x": nothing may follow */
SEC("gpu/run/x")
int entry(void *ctx)
{
	return 0;
}
#endif

#ifdef CASE_only_cpu /* there is no program for the GPU in it */
SEC("tracepoint/sched/sched_switch")
int entry(void *ctx)
{
	return 0;
}
#endif

#ifdef CASE_only_static /* there is no program for the GPU in it */
static SEC("gpu/entry") __attribute__((used)) int entry(void *ctx)
{
	return 0;
}
#endif

#ifdef CASE_map_type /* map m: type 15 does not exist on a GPU */
ARRAY(m, __uint(type, BPF_MAP_TYPE_SOCKMAP); __uint(max_entries, 1); __type(key, __u32);
      __type(value, __u64);)
#endif

#ifdef CASE_map_without_type /* map m: type 0 does not exist on a GPU */
ARRAY(m, __uint(max_entries, 1); __type(key, __u32); __type(value, __u64);)
#endif

#ifdef CASE_map_without_entries /* map m: max_entries is 0 */
ARRAY(m, __uint(type, BPF_MAP_TYPE_ARRAY); __type(key, __u32); __type(value, __u64);)
#endif

#ifdef CASE_map_key /* map m: its key has 8 bytes, an array's has 4 */
ARRAY(m, __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, __u64);
      __type(value, __u64);)
#endif

#ifdef CASE_map_large_key /* map m: its key has 65 bytes, 1 to 64 are possible */
ARRAY(m, __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 1); __uint(key_size, 65);
      __type(value, __u64);)
#endif

#ifdef CASE_map_large_value /* map m: its value has 65537 bytes, 1 to 65536 are possible */
ARRAY(m, __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 1); __type(key, __u32);
      __uint(value_size, 65537);)
#endif

#ifdef CASE_map_larger_value /* map m: its value has 1073741825 bytes, 1 to 1073741824 are possible */
ARRAY(m, __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, __u32);
      __uint(value_size, 1073741825);)
#endif

#ifdef CASE_map_array_memory /* the maps take 16.0 GiB on each GPU, map m the most of it, and 8 GiB are possible */
ARRAY(m, __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 4096); __type(key, __u32);
      __uint(value_size, 4194304);)
#endif

#ifdef CASE_map_thread_memory /* the maps take 262144.0 GiB on each GPU, map m the most */
ARRAY(m, __uint(type, BPF_MAP_TYPE_PERGPUTD_ARRAY_MAP); __uint(max_entries, 0xffffffff);
      __type(key, __u32); __uint(value_size, 65536);)
#endif

#ifdef CASE_map_hash_memory /* the maps take 262144.0 GiB on each GPU, map m the most */
ARRAY(m, __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 0x80000000); __type(key, __u32);
      __uint(value_size, 65520);)
#endif

#ifdef CASE_map_sm_memory /* the maps take more than 931322.6 GiB on each GPU, map m the most */
ARRAY(m, __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); __uint(max_entries, 0xffffffff);
      __type(key, __u32); __uint(value_size, 0x40000000);)
#endif

#ifdef CASE_map_histogram_memory /* the maps take 131072.0 GiB on each GPU, map m the most */
ARRAY(m, __uint(type, BPF_MAP_TYPE_GPUMON_HISTOGRAM); __uint(max_entries, 0xffffffff);)
#endif

#ifdef CASE_function_pointer /* of a callback, write a loop instead, of a function pointer, if and else */
__attribute__((noinline)) static int one(int x)
{
	return x + 1;
}
__attribute__((noinline)) static int three(int x)
{
	return x * 3;
}
SEC("gpu/entry")
int entry(void *ctx)
{
	int (*function)(int) = bpf_get_sm_id() ? one : three;

	return function(3);
}
#endif

#ifdef CASE_helper_negative /* helper -7 does not exist: gpumon_gpu.h has all that do */
static long (*const odd)(void) = (void *)0xfffffff9;
SEC("gpu/entry")
int entry(void *ctx)
{
	return odd();
}
#endif

#ifdef CASE_map_without_value /* map m: its value has 0 bytes */
ARRAY(m, __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, __u32);)
#endif

#ifdef CASE_map_flags /* map m: map_flags 0x80 are not possible on a GPU */
ARRAY(m, __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, __u32);
      __type(value, __u64); __uint(map_flags, BPF_F_RDONLY_PROG);)
#endif

#ifdef CASE_map_pinning /* map m: "pinning" is not possible for a map on a GPU */
ARRAY(m, __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, __u32);
      __type(value, __u64); __uint(pinning, LIBBPF_PIN_BY_NAME);)
#endif

#ifdef CASE_map_odd_number /* map m: its max_entries cannot be read */
ARRAY(m, __uint(type, BPF_MAP_TYPE_ARRAY); __u32 max_entries; __type(key, __u32);
      __type(value, __u64);)
#endif

#ifdef CASE_map_unknown_value /* map m: its value cannot be read */
struct later;
ARRAY(m, __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, __u32);
      __type(value, struct later);)
#endif

#ifdef CASE_map_no_struct /* map m has no definition in section .maps */
__u64 m SEC(".maps");
SEC("gpu/entry")
int entry(void *ctx)
{
	return gpumon_count(&m, 0, 1);
}
#endif

#ifdef CASE_map_of_maps /* map m: "values" is not possible */
struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
};
ARRAY(m, __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS); __uint(max_entries, 1); __type(key, __u32);
      __array(values, struct inner);)
#endif

#ifdef CASE_ring_size /* map m: max_entries of a ring are its bytes, a power of two, 4096 at least; it has 5000 */
ARRAY(m, __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 5000);)
#endif

#ifdef CASE_histogram_value /* map m: a histogram has no key and no value */
ARRAY(m, __uint(type, BPF_MAP_TYPE_GPUMON_HISTOGRAM); __uint(max_entries, 1); __type(value, __u64);)
#endif

#ifdef CASE_data_too_large /* section .bss has 65544 bytes, 1 to 65536 are possible */
__u64 large[8193];
SEC("gpu/entry")
int entry(void *ctx)
{
	return large[gpumon_thread() & 7]++;
}
#endif

#ifdef CASE_data_with_addresses /* section .rodata has addresses of other data in it */
static const char *const KEEP names[] = { "one", "two" };
SEC("gpu/entry")
int entry(void *ctx)
{
	return bpf_puts(names[gpumon_thread() & 1]);
}
#endif

#ifdef CASE_data_elsewhere /* it takes an address in section mine: only .maps, .rodata, .data and .bss */
KEEP __u64 number SEC("mine") = 1;
SEC("gpu/entry")
int entry(void *ctx)
{
	return number;
}
#endif

#ifdef CASE_kernel_variable /* jiffies is not defined in this object */
extern const int jiffies __ksym;
SEC("gpu/entry")
int entry(void *ctx)
{
	return (long)&jiffies;
}
#endif

#ifdef CASE_kconfig /* LINUX_KERNEL_VERSION is not defined in this object */
extern int LINUX_KERNEL_VERSION __kconfig;
SEC("gpu/entry")
int entry(void *ctx)
{
	return LINUX_KERNEL_VERSION;
}
#endif

#ifdef CASE_kernel_function /* it calls bpf_rcu_read_lock, which is not in this object */
extern void bpf_rcu_read_lock(void) __ksym;
SEC("gpu/entry")
int entry(void *ctx)
{
	bpf_rcu_read_lock();
	return 0;
}
#endif

#ifdef CASE_callback /* it takes the address of a function, which a GPU cannot call: of a callback, write a loop */
static long step(__u32 i, void *ctx)
{
	return 0;
}
SEC("gpu/entry")
int entry(void *ctx)
{
	return bpf_loop(10, step, 0, 0);
}
#endif

#ifdef CASE_tail_call /* it is a tail call */
SEC("gpu/entry")
int entry(void *ctx)
{
	bpf_tail_call(ctx, ctx, 0);
	return 0;
}
#endif

#ifdef CASE_recursion /* (recursion): write a loop */
static __attribute__((noinline)) int down(int n);
static __attribute__((noinline)) int up(int n)
{
	return n > 5 ? down(n * 3) + 2 : bpf_puts("");
}
static __attribute__((noinline)) int down(int n)
{
	return up(n / 2) * 3;
}
SEC("gpu/entry")
int entry(void *ctx)
{
	return up(gpumon_thread());
}
#endif

#ifdef CASE_count_of_narrow /* values of map m have 2 bytes: to count it takes 4 or 8 */
ARRAY(m, __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, __u32);
      __type(value, __u16);)
#endif

#ifdef CASE_core /* it depends on a type of the kernel (CO-RE) */
struct task_struct {
	int pid;
} __attribute__((preserve_access_index));
SEC("gpu/memory")
int entry(struct task_struct *task)
{
	return task->pid;
}
#endif

#ifdef CASE_core_of_function /* refused.bpf.c */
struct task_struct {
	int pid;
} __attribute__((preserve_access_index));
static __attribute__((noinline)) int pid_of(struct task_struct *task)
{
	return task->pid;
}
SEC("gpu/memory")
int entry(struct task_struct *task)
{
	return pid_of(task) + 1;
}
#endif

#ifdef CASE_divide_by_zero /* it divides by the constant 0 */
SEC("gpu/entry")
__attribute__((naked)) int entry(void *ctx)
{
	asm volatile("r0 = 1; r0 /= 0; exit");
}
#endif

#ifdef CASE_falls_off /* the function has no return behind it */
SEC("gpu/entry")
__attribute__((naked)) int entry(void *ctx)
{
	asm volatile("r0 = 1");
}
#endif

#ifdef CASE_too_long /* has more than 65536 instructions */
#define TEN(x) x x x x x x x x x x
SEC("gpu/entry")
__attribute__((naked)) int entry(void *ctx)
{
	asm volatile(TEN(
		TEN(TEN(TEN("r0 = 1; r1 = 2; r2 = 3; r3 = 4; r4 = 5; r5 = 6; r6 = 7;")))) "exit");
}
#endif

#ifdef CASE_too_many_programs /* it has more than 32 programs for the GPU */
#define PROGRAM(name)                        \
	SEC("gpu/entry") int name(void *ctx) \
	{                                    \
		return 0;                    \
	}
#define EIGHT(x)      \
	PROGRAM(x##0) \
	PROGRAM(x##1) \
	PROGRAM(x##2) PROGRAM(x##3) PROGRAM(x##4) PROGRAM(x##5) PROGRAM(x##6) PROGRAM(x##7)
EIGHT(a)
EIGHT(b)
EIGHT(c)
EIGHT(d)
EIGHT(e)
#endif

#ifdef CASE_too_many_maps /* it has more than 64 maps */
#define MAP(name)                                 \
	struct {                                  \
		__uint(type, BPF_MAP_TYPE_ARRAY); \
		__uint(max_entries, 1);           \
		__type(key, __u32);               \
		__type(value, __u64);             \
	} name SEC(".maps");
#define EIGHT(X, x) X(x##0) X(x##1) X(x##2) X(x##3) X(x##4) X(x##5) X(x##6) X(x##7)
#define ALL(X)      \
	EIGHT(X, a) \
	EIGHT(X, b) EIGHT(X, c) EIGHT(X, d) EIGHT(X, e) EIGHT(X, f) EIGHT(X, g) EIGHT(X, h) X(i)
#define USE(name) gpumon_count(&name, 0, 1);
ALL(MAP)
SEC("gpu/entry")
int entry(void *ctx)
{
	ALL(USE)
	return 0;
}
#endif

char LICENSE[] SEC("license") = "Dual BSD/GPL";
