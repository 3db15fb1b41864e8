// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Types of keys and values, for test_fields.c. */
#include "gpumon_gpu.h"

typedef __u32 number;
enum colour {
	RED = -1,
	BLUE
};

struct inner {
	__u8 small;
	number many[2];
};

struct plain {
	volatile const __u64 first;
	__s16 low;
	struct inner inner[2];
	struct {
		__u32 unnamed;
	};
	enum colour colour;
};

struct with_bits {
	__u32 low : 4;
	__u32 high : 28;
};

union either {
	__u64 one;
	__u32 other;
};

struct with_union {
	union either either;
};

struct with_pointer {
	void *pointer;
};

struct wide {
	__u64 many[33];
};

struct deep {
	struct {
		struct {
			struct {
				struct {
					struct {
						struct {
							struct {
								struct {
									__u64 far;
								} h;
							} g;
						} f;
					} e;
				} d;
			} c;
		} b;
	} a;
};

#define MAP(name, key_type, value_type)          \
	struct {                                 \
		__uint(type, BPF_MAP_TYPE_HASH); \
		__uint(max_entries, 8);          \
		__type(key, key_type);           \
		__type(value, value_type);       \
	} name SEC(".maps")

MAP(plain, struct inner, struct plain);
MAP(single, number, enum colour);
MAP(bits, __u8, struct with_bits);
MAP(unions, __s32, struct with_union);
MAP(pointers, __u64, struct with_pointer);
MAP(wides, __u64, struct wide);
MAP(deeps, __u64, struct deep);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__uint(key_size, 4);
	__uint(value_size, 16);
} sizes SEC(".maps");

/* Global variables. */
__u64 total;
static __s32 difference[2];
struct with_bits bits_in_data;
__u64 given = 7;

#define USE(name) bpf_map_delete_elem(&name, key)

SEC("gpu/entry")
int use_all(void *ctx)
{
	__u64 key[4] = { 0 };

	USE(plain);
	USE(single);
	USE(bits);
	USE(unions);
	USE(pointers);
	USE(wides);
	USE(deeps);
	USE(sizes);
	total++;
	difference[bpf_get_sm_id() & 1]--;
	bits_in_data.high++;
	given++;
	return 0;
}
