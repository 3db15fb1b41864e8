// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A server with a thread and a stream for each connection, and a client that keeps it busy and checks its answers:
 *
 *     server serve                          prints "ready PID PORT"; ends with its standard input
 *     server load PORT SECONDS THREADS      prints a line of JSON: answers in each 20 ms, and how many of
 *                                           them were wrong
 *
 * A request is a number of 4 bytes, its answer a sum of 8 bytes that a kernel makes of it.
 */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cuda_runtime.h>

#define COUNT 4096u

#define MUST(call)                                                                              \
	do {                                                                                    \
		cudaError_t error_ = (call);                                                    \
		if (error_ != cudaSuccess) {                                                    \
			fprintf(stderr, "server: %s: %s\n", #call, cudaGetErrorString(error_)); \
			exit(1);                                                                \
		}                                                                               \
	} while (0)

__global__ void answer_kernel(uint32_t *values, uint32_t seed)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	values[i] = (seed ^ i) * 2654435761u;
}

static uint64_t answer_of(uint32_t seed)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < COUNT; i++)
		sum += (seed ^ i) * 2654435761u;
	return sum;
}

static bool transfer(int fd, void *data, size_t size, bool out)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = out ? send(fd, (char *)data + done, size - done, MSG_NOSIGNAL) :
				  recv(fd, (char *)data + done, size - done, 0);

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* answers.py knows its name. */
__attribute__((noinline)) static uint64_t answer_on_gpu(uint32_t *memory, uint32_t seed,
							cudaStream_t stream)
{
	uint32_t values[COUNT];
	uint64_t sum = 0;

	answer_kernel<<<COUNT / 256, 256, 0, stream>>>(memory, seed);
	MUST(cudaMemcpyAsync(values, memory, sizeof(values), cudaMemcpyDeviceToHost, stream));
	MUST(cudaStreamSynchronize(stream));
	for (uint32_t value : values)
		sum += value;
	return sum;
}

static void serve_one(int fd)
{
	cudaStream_t stream;
	uint32_t *memory, seed;
	uint64_t answer;

	MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	MUST(cudaMalloc(&memory, COUNT * sizeof(*memory)));
	while (transfer(fd, &seed, sizeof(seed), false)) {
		answer = answer_on_gpu(memory, seed, stream);
		if (!transfer(fd, &answer, sizeof(answer), true))
			break;
	}
	close(fd);
	MUST(cudaFree(memory));
	MUST(cudaStreamDestroy(stream));
}

static struct sockaddr_in address_of(uint16_t port)
{
	struct sockaddr_in address = {};

	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = htons(port);
	return address;
}

static int serve(void)
{
	struct sockaddr_in address = address_of(0);
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	MUST(cudaFree(nullptr));
	if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 64) ||
	    getsockname(listener, (struct sockaddr *)&address, &size)) {
		perror("server: listen");
		return 1;
	}
	std::thread([listener] {
		int fd;

		while ((fd = accept(listener, nullptr, nullptr)) >= 0)
			std::thread(serve_one, fd).detach();
	}).detach();
	printf("ready %d %d\n", (int)getpid(), ntohs(address.sin_port));
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}

static double seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

static int load(uint16_t port, double how_long, unsigned int threads)
{
	std::vector<std::atomic<uint64_t>> answers((size_t)(how_long * 50) + 1);
	std::atomic<uint64_t> wrong(0), ended(0);
	std::vector<std::thread> all;
	double begin = seconds();

	for (unsigned int t = 0; t < threads; t++)
		all.emplace_back([&, t] {
			struct sockaddr_in address = address_of(port);
			int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
			uint32_t seed = t;
			uint64_t answer;
			double now;

			setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
			if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
				ended++;
				return;
			}
			while ((now = seconds() - begin) < how_long) {
				seed = seed * 1664525 + 1013904223;
				if (!transfer(fd, &seed, sizeof(seed), true) ||
				    !transfer(fd, &answer, sizeof(answer), false)) {
					ended++;
					break;
				}
				wrong += answer != answer_of(seed);
				answers[(size_t)(now * 50)]++;
			}
			close(fd);
		});
	for (auto &thread : all)
		thread.join();
	printf("{\"wrong\": %lu, \"ended\": %lu, \"answers\": [", (unsigned long)wrong,
	       (unsigned long)ended);
	for (size_t i = 0; i < answers.size(); i++)
		printf("%s%lu", i ? ", " : "", (unsigned long)answers[i]);
	printf("]}\n");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "serve"))
		return serve();
	if (argc == 5 && !strcmp(argv[1], "load"))
		return load((uint16_t)atoi(argv[2]), atof(argv[3]), (unsigned int)atoi(argv[4]));
	fprintf(stderr, "usage: server serve | server load PORT SECONDS THREADS\n");
	return 2;
}
