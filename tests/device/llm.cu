// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * What a small language model does to make text, a token after the other: per
 * layer rmsnorm, matmuls, rotary positions, attention over all tokens before,
 * residuals; greedy choice of the next token. Weights are random. Each kernel
 * is launched by one function, launch_KERNEL(). With "cublas" the matmuls are
 * cuBLAS's, where that is found.
 *
 *     llm TOKENS [cublas]
 *
 * Its account goes to KNOWN_ACCOUNT as known.cu's does; standard output has the tokens.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include "account.h"

#define PLACE __attribute__((noinline, noclone))

enum { WIDTH = 256, HEADS = 4, HEAD = WIDTH / HEADS, HIDDEN = 512, LAYERS = 4, WORDS = 512 };
enum { CONTEXT = 512 };

#define MUST(call)                                                                                \
	do {                                                                                      \
		cudaError_t error_ = (call);                                                      \
		if (error_ != cudaSuccess) {                                                      \
			fprintf(stderr, "llm: %s: %s\n", #call, cudaGetErrorString(error_));      \
			exit(1);                                                                  \
		}                                                                                 \
	} while (0)

enum { EMBED, RMSNORM, MATMUL, ROTARY, ATTENTION, RESIDUAL, GATE, CHOOSE, FILL, KERNELS };
static const char *const names[KERNELS] = { "embed",	 "rmsnorm",  "matmul", "rotary", "attention",
					    "residual", "gate",	    "choose", "fill" };
static long counts[KERNELS], launches, copies, sets, cublas_calls;
static double events_ns;
static cudaStream_t stream;

/* --- kernels */

__global__ void fill(float *out, unsigned int count, unsigned int seed, float scale)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned int x = (i + 1) * 2654435761u ^ seed * 40503u;

	x ^= x >> 15;
	x *= 2246822519u;
	x ^= x >> 13;
	if (i < count)
		out[i] = ((float)(x & 0xffff) / 32768.0f - 1.0f) * scale;
}

__global__ void embed(float *out, const float *table, const int *token)
{
	out[threadIdx.x] = table[*token * WIDTH + threadIdx.x];
}

/* Of a block's threads, all of them. */
__device__ static float sum_all(float value)
{
	__shared__ float parts[32];
	unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

	for (int step = 16; step; step /= 2)
		value += __shfl_xor_sync(0xffffffff, value, step);
	if (!lane)
		parts[warp] = value;
	__syncthreads();
	value = 0;
	for (unsigned int i = 0; i < blockDim.x / 32; i++)
		value += parts[i];
	__syncthreads();
	return value;
}

__global__ void rmsnorm(float *out, const float *in)
{
	float x = in[threadIdx.x];

	out[threadIdx.x] = x * rsqrtf(sum_all(x * x) / WIDTH + 1e-5f);
}

/* One row a block: out[row] = dot of the row with in. */
__global__ void matmul(float *out, const float *weights, const float *in, unsigned int width)
{
	const float *row = weights + (size_t)blockIdx.x * width;
	float sum = 0;

	for (unsigned int i = threadIdx.x; i < width; i += blockDim.x)
		sum += row[i] * in[i];
	sum = sum_all(sum);
	if (!threadIdx.x)
		out[blockIdx.x] = sum;
}

__global__ void rotary(float *query, float *key, unsigned int position)
{
	unsigned int pair = threadIdx.x, at = pair * 2;
	float angle = (float)position * powf(10000.0f, -(float)(at % HEAD) / HEAD);
	float s = sinf(angle), c = cosf(angle);
	float q0 = query[at], q1 = query[at + 1], k0 = key[at], k1 = key[at + 1];

	query[at] = q0 * c - q1 * s;
	query[at + 1] = q0 * s + q1 * c;
	key[at] = k0 * c - k1 * s;
	key[at + 1] = k0 * s + k1 * c;
}

/* A head a block, a thread for each of its numbers. */
__global__ void attention(float *out, const float *query, const float *keys, const float *values,
			  unsigned int length)
{
	unsigned int at = blockIdx.x * HEAD + threadIdx.x;
	float most = -1e30f, total = 0, sum = 0;

	for (unsigned int t = 0; t < length; t++) {
		float score = sum_all(query[at] * keys[t * WIDTH + at]) * rsqrtf(HEAD);
		float next = fmaxf(most, score), keep = expf(most - next);
		float weight = expf(score - next);

		total = total * keep + weight;
		sum = sum * keep + weight * values[t * WIDTH + at];
		most = next;
	}
	out[at] = sum / total;
}

__global__ void residual(float *out, const float *in)
{
	out[threadIdx.x] += in[threadIdx.x];
}

__global__ void gate(float *out, const float *in)
{
	float x = out[threadIdx.x];

	out[threadIdx.x] = x / (1.0f + expf(-x)) * in[threadIdx.x];
}

__global__ void choose(int *token, const float *logits)
{
	int best = 0;

	for (int i = 1; i < WORDS; i++)
		if (logits[i] > logits[best])
			best = i;
	*token = best;
}

/* --- places */

static void count(int kernel)
{
	counts[kernel]++;
	launches++;
	MUST(cudaGetLastError());
}

PLACE static float *launch_fill(unsigned int size, unsigned int seed, float scale)
{
	float *memory;

	MUST(cudaMalloc(&memory, size * sizeof(float)));
	fill<<<(size + 255) / 256, 256, 0, stream>>>(memory, size, seed, scale);
	count(FILL);
	return memory;
}

PLACE static void launch_embed(float *out, const float *table, const int *token)
{
	embed<<<1, WIDTH, 0, stream>>>(out, table, token);
	count(EMBED);
}

PLACE static void launch_rmsnorm(float *out, const float *in)
{
	rmsnorm<<<1, WIDTH, 0, stream>>>(out, in);
	count(RMSNORM);
}

typedef int (*sgemv_function)(void *, int, int, int, const float *, const float *, int,
			      const float *, int, const float *, float *, int);
static sgemv_function sgemv;
static void *cublas;

static void use_cublas(void)
{
	void *library = dlopen("libcublas.so.13", RTLD_NOW);
	int (*create)(void **);
	int (*set_stream)(void *, cudaStream_t);

	if (!library)
		library = dlopen("libcublas.so.12", RTLD_NOW);
	if (!library) {
		fprintf(stderr, "llm: %s\n", dlerror());
		exit(77);
	}
	*(void **)&create = dlsym(library, "cublasCreate_v2");
	*(void **)&set_stream = dlsym(library, "cublasSetStream_v2");
	*(void **)&sgemv = dlsym(library, "cublasSgemv_v2");
	if (!create || !set_stream || !sgemv || create(&cublas) || set_stream(cublas, stream)) {
		fprintf(stderr, "llm: cuBLAS does not start\n");
		exit(1);
	}
}

PLACE static void call_cublas(float *out, const float *weights, const float *in,
			      unsigned int rows, unsigned int width)
{
	const float one = 1, zero = 0;

	/* Its matrices go by columns: ours is the transposed one (1). */
	if (sgemv(cublas, 1, (int)width, (int)rows, &one, weights, (int)width, in, 1, &zero, out,
		  1)) {
		fprintf(stderr, "llm: cublasSgemv\n");
		exit(1);
	}
	cublas_calls++;
	asm volatile("");
}

PLACE static void launch_matmul(float *out, const float *weights, const float *in,
				unsigned int rows, unsigned int width)
{
	matmul<<<rows, 128, 0, stream>>>(out, weights, in, width);
	count(MATMUL);
}

static void multiply(float *out, const float *weights, const float *in, unsigned int rows,
		     unsigned int width)
{
	if (cublas)
		call_cublas(out, weights, in, rows, width);
	else
		launch_matmul(out, weights, in, rows, width);
}

PLACE static void launch_rotary(float *query, float *key, unsigned int position)
{
	rotary<<<1, WIDTH / 2, 0, stream>>>(query, key, position);
	count(ROTARY);
}

PLACE static void launch_attention(float *out, const float *query, const float *keys,
				   const float *values, unsigned int length)
{
	attention<<<HEADS, HEAD, 0, stream>>>(out, query, keys, values, length);
	count(ATTENTION);
}

PLACE static void launch_residual(float *out, const float *in)
{
	residual<<<1, WIDTH, 0, stream>>>(out, in);
	count(RESIDUAL);
}

PLACE static void launch_gate(float *out, const float *in)
{
	gate<<<1, HIDDEN, 0, stream>>>(out, in);
	count(GATE);
}

PLACE static void launch_choose(int *token, const float *logits)
{
	choose<<<1, 1, 0, stream>>>(token, logits);
	count(CHOOSE);
}

/* --- the model */

struct layer {
	float *query, *key, *value, *output, *up, *gate, *down;
	float *keys, *values;
};

struct model {
	float *table, *logits_weights;
	layer layers[LAYERS];
	float *x, *normal, *query, *attended, *hidden, *hidden2, *logits;
	int *token;
};

static void make_model(model *m)
{
	unsigned int seed = 1;

	m->table = launch_fill(WORDS * WIDTH, seed++, 1.0f);
	m->logits_weights = launch_fill(WORDS * WIDTH, seed++, 0.1f);
	for (layer &l : m->layers) {
		for (float **square : { &l.query, &l.key, &l.value, &l.output })
			*square = launch_fill(WIDTH * WIDTH, seed++, 0.1f);
		l.up = launch_fill(HIDDEN * WIDTH, seed++, 0.1f);
		l.gate = launch_fill(HIDDEN * WIDTH, seed++, 0.1f);
		l.down = launch_fill(WIDTH * HIDDEN, seed++, 0.1f);
		MUST(cudaMalloc(&l.keys, CONTEXT * WIDTH * sizeof(float)));
		MUST(cudaMalloc(&l.values, CONTEXT * WIDTH * sizeof(float)));
	}
	for (float **row : { &m->x, &m->normal, &m->query, &m->attended })
		MUST(cudaMalloc(row, WIDTH * sizeof(float)));
	MUST(cudaMalloc(&m->hidden, HIDDEN * sizeof(float)));
	MUST(cudaMalloc(&m->hidden2, HIDDEN * sizeof(float)));
	MUST(cudaMalloc(&m->logits, WORDS * sizeof(float)));
	MUST(cudaMalloc(&m->token, sizeof(int)));
	MUST(cudaMemsetAsync(m->token, 0, sizeof(int), stream));
	sets++;
	launches++;
}

PLACE static void attention_part(model *m, layer *l, unsigned int position)
{
	float *key = l->keys + position * WIDTH, *value = l->values + position * WIDTH;

	launch_rmsnorm(m->normal, m->x);
	multiply(m->query, l->query, m->normal, WIDTH, WIDTH);
	multiply(key, l->key, m->normal, WIDTH, WIDTH);
	multiply(value, l->value, m->normal, WIDTH, WIDTH);
	launch_rotary(m->query, key, position);
	launch_attention(m->attended, m->query, l->keys, l->values, position + 1);
	multiply(m->normal, l->output, m->attended, WIDTH, WIDTH);
	launch_residual(m->x, m->normal);
}

PLACE static void feed_forward_part(model *m, layer *l)
{
	launch_rmsnorm(m->normal, m->x);
	multiply(m->hidden, l->gate, m->normal, HIDDEN, WIDTH);
	multiply(m->hidden2, l->up, m->normal, HIDDEN, WIDTH);
	launch_gate(m->hidden, m->hidden2);
	multiply(m->normal, l->down, m->hidden, WIDTH, HIDDEN);
	launch_residual(m->x, m->normal);
}

static void next_token(model *m, unsigned int position)
{
	char text[32];

	nvtxRangePushA("token");
	launch_embed(m->x, m->table, m->token);
	for (int i = 0; i < LAYERS; i++) {
		snprintf(text, sizeof(text), "layer %d", i);
		nvtxRangePushA(text);
		attention_part(m, &m->layers[i], position);
		feed_forward_part(m, &m->layers[i]);
		nvtxRangePop();
	}
	nvtxRangePushA("logits");
	launch_rmsnorm(m->normal, m->x);
	multiply(m->logits, m->logits_weights, m->normal, WORDS, WIDTH);
	launch_choose(m->token, m->logits);
	nvtxRangePop();
	nvtxRangePop();
}

static void write_account(int tokens)
{
	FILE *file = open_account();
	int n = 0;

	if (!file)
		return;
	fprintf(file,
		"{\"launches\":%ld,\"captured\":0,\"copies\":%ld,\"sets\":%ld,\"failed\":0,"
		"\"events_ns\":%.0f,\"tokens\":%d,\"layers\":%d,\"cublas_calls\":%ld,\"kernels\":{",
		launches, copies, sets, events_ns, tokens, LAYERS, cublas_calls);
	for (int i = 0; i < KERNELS; i++)
		if (counts[i])
			fprintf(file, "%s\"%s\":{\"count\":%ld}", n++ ? "," : "", names[i],
				counts[i]);
	fputs("}}\n", file);
	fclose(file);
}

int main(int argc, char **argv)
{
	int tokens = argc > 1 ? atoi(argv[1]) : 32;
	std::vector<int> text;
	cudaEvent_t begin, end;
	static model m;
	float ms;

	if (tokens < 1 || tokens > CONTEXT)
		return 2;
	MUST(cudaStreamCreate(&stream));
	if (argc > 2 && !strcmp(argv[2], "cublas"))
		use_cublas();
	MUST(cudaEventCreate(&begin));
	MUST(cudaEventCreate(&end));
	make_model(&m);
	MUST(cudaStreamSynchronize(stream));
	MUST(cudaEventRecord(begin, stream));
	for (int i = 0; i < tokens; i++) {
		int token;

		next_token(&m, (unsigned int)i);
		MUST(cudaMemcpyAsync(&token, m.token, sizeof(token), cudaMemcpyDeviceToHost,
				     stream));
		copies++;
		launches++;
		MUST(cudaStreamSynchronize(stream));
		text.push_back(token);
	}
	MUST(cudaEventRecord(end, stream));
	MUST(cudaStreamSynchronize(stream));
	MUST(cudaEventElapsedTime(&ms, begin, end));
	events_ns = (double)ms * 1e6;
	for (int token : text)
		printf("%d ", token);
	printf("\n");
	write_account(tokens);
	return 0;
}
