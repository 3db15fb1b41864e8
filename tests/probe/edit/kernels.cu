// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Kernels of many kinds, for the PTX editor: what the compiler makes of them is edited and assembled.
 * What an architecture lacks is left out for it.
 */
#include <cooperative_groups.h>
#include <stdint.h>
#include <stdio.h>

namespace cg = cooperative_groups;

#define ASYNC  (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800)
#define HOPPER (defined(__CUDA_ARCH_FEAT_SM90_ALL))

__device__ int counter;
__device__ float4 table_of_vectors[64];
__constant__ float weights[32];

// --- ordinary code, templates, early ends

template <typename T, int N>
__global__ void scale(T *data, T by, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
#pragma unroll
	for (int j = 0; j < N; j++)
		data[i * N + j] *= by;
}

template __global__ void scale<float, 1>(float *, float, int);
template __global__ void scale<double, 3>(double *, double, int);
template __global__ void scale<short, 4>(short *, short, int);

__global__ void __launch_bounds__(256, 2) vectors(const float4 *__restrict__ from, float4 *to,
						  volatile int *flag, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (*flag)
		return;
	if (i < n) {
		float4 v = __ldg(from + i), w = __ldcs(from + i + n);

		v.x += w.y + table_of_vectors[i & 63].z * weights[i & 31];
		__stcg(to + i, v);
	}
	*flag = 1;
}

__global__ void selected(int *data, int which)
{
	switch (which) {
	case 0: data[0] = 7; break;
	case 1: data[1] += 5; break;
	case 2: data[2] *= data[3]; break;
	case 3: data[4] = data[5] ^ 9; return;
	case 4: data[6] = __popc(data[7]); break;
	case 5: data[8] = data[9] / 3; break;
	case 6: __trap();
	case 7: data[10] -= data[11]; return;
	default: data[12] = which;
	}
	data[13] = data[14] + 1;
}

// --- memory of a block and of a thread, barriers, atomic operations

__global__ void reduced(const int *data, int *sum, unsigned long long *wide, int n)
{
	__shared__ int part[256];
	int total = 0;

	for (int i = threadIdx.x; i < n; i += blockDim.x)
		total += data[i];
	part[threadIdx.x] = total;
	__syncthreads();
	for (int half = blockDim.x / 2; half; half >>= 1) {
		if (threadIdx.x < half)
			part[threadIdx.x] += part[threadIdx.x + half];
		__syncthreads();
	}
	if (threadIdx.x == 0) {
		atomicAdd(sum, part[0]);
		atomicMax(wide, (unsigned long long)part[0]);
		atomicCAS(sum + 1, 0, part[0]);
	}
	if (__syncthreads_or(total))
		atomicExch(sum + 2, 1);
	atomicAdd(&counter, 1);
}

__global__ void local_array(int *data, int n)
{
	int own[64];

	for (int i = 0; i < 64; i++)
		own[i] = data[i] * n;
	for (int i = 0; i < n; i++)
		own[own[i & 63] & 63] += i;
	data[threadIdx.x] = own[n & 63];
}

// --- calls

__device__ __noinline__ int fibonacci(int n, int *calls)
{
	atomicAdd(calls, 1);
	if (n < 2)
		return n;
	return fibonacci(n - 1, calls) + fibonacci(n - 2, calls);
}

__device__ __noinline__ void leave(int *data, int value)
{
	data[threadIdx.x] = value;
	if (value > 100)
		asm volatile("exit;");
}

__device__ __noinline__ int without_memory(int value)
{
	return value * 31 + 7;
}

typedef int (*chosen)(int);
__device__ int twice(int x) { return 2 * x; }
__device__ int thrice(int x) { return 3 * x; }
__device__ chosen choice[] = { twice, thrice };

__global__ void recursive(int *data, int n) { data[0] = fibonacci(n, data + 1); }

__global__ void left_early(int *data, int n)
{
	leave(data, without_memory(n));
	data[0] = fibonacci(n, data + 2);
}

__global__ void through_pointer(int *data, int n) { data[n] = choice[n & 1](data[n + 1]); }

__global__ void printing(const int *data)
{
	if (data[threadIdx.x] > 5)
		printf("%d is %d\n", threadIdx.x, data[threadIdx.x]);
}

// --- groups

__global__ void grouped(int *data, int n)
{
	cg::thread_block block = cg::this_thread_block();
	cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
	cg::coalesced_group active = cg::coalesced_threads();
	int value = data[block.thread_rank()];

	for (int i = tile.size() / 2; i; i /= 2)
		value += tile.shfl_down(value, i);
	if (tile.thread_rank() == 0)
		data[block.group_index().x] = value;
	block.sync();
	if (active.thread_rank() == 0)
		atomicAdd(data + n, (int)active.size());
}

__global__ void whole_grid(int *data)
{
	cg::grid_group grid = cg::this_grid();

	data[grid.thread_rank()] = 1;
	grid.sync();
	data[grid.thread_rank()] += data[grid.size() - 1 - grid.thread_rank()];
}

// --- textures

__global__ void textured(cudaTextureObject_t texture, cudaSurfaceObject_t surface, float *data)
{
	float v = tex2D<float>(texture, threadIdx.x, threadIdx.y);

	surf2Dwrite(v, surface, threadIdx.x * 4, threadIdx.y);
	data[threadIdx.x] = v;
}

// --- written by hand

__global__ void odd_format(unsigned int *data, int n)
{
	unsigned int value;

	asm volatile("{ .reg .pred p, q;.reg .b32 t;/* ld.global.u32 { */ .reg .b64 where;\n"
		     "setp.gt.s32\tp, %2 ,1; // st.global.u32 [x], y;\n"
		     "mov.b64 where, %1;mov.u32 t,3;\n"
		     "@p ld .global.u32 t ,[ where + 4*1 ] ;@!p ld.global\n.cg\n.u32 t, [where+0x8];\n"
		     "@! p\tst.volatile.global.u32 [where] , t; mov.u32 %0, t;}"
		     : "=r"(value)
		     : "l"(data), "r"(n)
		     : "memory");
	asm volatile("{ .reg .pred %%p1; .reg .b32 %%r1; setp.eq.s32 %%p1, %1, 77; @%%p1 exit; mov.u32 %%r1, 5;\n"
		     " @!%%p1 red.global.add.u32 [%0+16], %%r1; @%%p1 ret; }"
		     :
		     : "l"(data), "r"(n)
		     : "memory");
	data[threadIdx.x] = value;
}

__global__ void scoped(unsigned int *data)
{
	__shared__ unsigned int shared[32];
	unsigned int value;

	shared[threadIdx.x & 31] = data[threadIdx.x];
#if __CUDA_ARCH__ >= 700
	// The same name with another width, in a scope within a scope.
	asm volatile("{ .reg .u64 at; cvta.to.shared.u64 at, %1; ld.shared.u32 %0, [at];\n"
		     "{ .reg .u32 at; .reg .u64 wide; cvta.to.shared.u64 wide, %1; cvt.u32.u64 at, wide;\n"
		     "st.shared.u32 [at + 4], %0; } st.shared.v2.u16 [at], {1, 2}; }"
		     : "=r"(value)
		     : "l"(shared)
		     : "memory");
	asm volatile("ld.relaxed.gpu.global.u32 %0, [%1]; st.release.sys.global.u32 [%1+8], %0;\n"
		     "ld.acquire.gpu.u32 %0, [%1 + 12]; atom.acq_rel.gpu.global.add.u32 %0, [%1], 4;\n"
		     "atom.global.cas.b32 %0, [%1], %0, 9; bar.sync 1, 32; bar.warp.sync 0xffffffff;"
		     : "+r"(value)
		     : "l"(data)
		     : "memory");
#endif
	data[0] = value + shared[1];
}

#if ASYNC
__global__ void copied(const char *from, char *to, int bytes)
{
	__shared__ __align__(16) char buffer[1024];
	unsigned int at = (unsigned int)__cvta_generic_to_shared(buffer) + threadIdx.x * 16;

	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(at), "l"(from));
	asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 4, %2;\n" ::"r"(at + 512), "l"(from),
		     "r"(bytes));
	asm volatile("{ .reg .b64 keep; createpolicy.fractional.L2::evict_last.b64 keep, 1.0;\n"
		     "cp.async.ca.shared.global.L2::cache_hint [%0], [%1], 8, keep;\n"
		     "cp.async.ca.shared.global.L2::cache_hint [%0], [%1], 8, %2, keep;\n"
		     "ld.global.L1::no_allocate.L2::cache_hint.u32 %2, [%1], keep; }\n" ::"r"(at + 256),
		     "l"(from), "r"(bytes));
	asm volatile("cp.async.commit_group; cp.async.wait_group 0;");
	__syncthreads();
	to[threadIdx.x] = buffer[threadIdx.x];
}

__global__ void matrix(const unsigned int *from, unsigned int *to)
{
	__shared__ __align__(16) unsigned int tile[256];
	unsigned int at = (unsigned int)__cvta_generic_to_shared(tile) + threadIdx.x * 16, a, b, c, d;

	tile[threadIdx.x] = from[threadIdx.x];
	__syncthreads();
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
		     : "r"(at));
	to[threadIdx.x] = a + b + c + d;
}
#endif

#if HOPPER
// What CUTLASS does: registers handed from one warp group to the other, products by descriptors.
__global__ void __launch_bounds__(256, 1) specialised(float *data, const char *from)
{
	__shared__ __align__(128) char buffer[4096];
	__shared__ uint64_t barrier;
	unsigned int at = (unsigned int)__cvta_generic_to_shared(buffer),
		     bar = (unsigned int)__cvta_generic_to_shared(&barrier);

	if (threadIdx.x == 0)
		asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar));
	__syncthreads();
	if (threadIdx.x >= 128) {
		asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
		if (threadIdx.x == 128) {
			asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 4096;" ::"r"(bar));
			asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
					     "r"(at),
				     "l"(from), "r"(4096), "r"(bar)
				     : "memory");
		}
	} else {
		float d[4] = { 0 };
		uint64_t descriptor = (at >> 4) & 0x3fff;

		asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
		asm volatile("{ .reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
			     "@done bra over; bra again; over: }" ::"r"(bar)
			     : "memory");
		asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
		asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0;\n"
			     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0; }"
			     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
			     : "l"(descriptor), "l"(descriptor));
		asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
		for (int i = 0; i < 4; i++)
			data[threadIdx.x * 4 + i] = d[i];
	}
	asm volatile("bar.sync 2, 256;");
	if (threadIdx.x == 0) {
		asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 64;" ::"l"(data), "r"(at)
			     : "memory");
		asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 64;" ::"l"(data),
			     "r"(at)
			     : "memory");
		asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;");
	}
}

__global__ void __cluster_dims__(2, 1, 1) clustered(int *data)
{
	__shared__ int own;
	cg::cluster_group cluster = cg::this_cluster();

	own = data[threadIdx.x];
	cluster.sync();
	data[threadIdx.x] += *cluster.map_shared_rank(&own, cluster.block_rank() ^ 1);
	cluster.sync();
}
#endif
