// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * A program that stutters by plan: it shows an image each FRAME_MS, and some frames are late, each for one reason.
 * stutter [ROUNDS]: so many times the plan, 1 if not given.
 *
 * It prints one line of JSON: "late" has the frames by their number, which is that of the present that ends the
 * frame, with "reason" and the function that was late:
 *   cpu       computes in simulate_crowd()
 *   sleep     sleeps in load_level()
 *   mutex     waits in save_game() for a mutex that the thread "autosave" holds
 *   read      waits in read_asset() for a pipe that the thread "disk" writes to
 *   gpu       its own command buffer "shadows" takes long; waits for it in wait_for_gpu()
 *   queue     the thread "streamer" has submitted the command buffer "textures" before it; waits as above
 *   compile   makes pipelines in compile_materials()
 *   acquire   waits for an image in acquire_image(): only if BELOW, of below.c, has acquire=FRAME
 * "presents" has the begin and end of each present, CLOCK_MONOTONIC ns; "ms" is from the end of the present before.
 */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "window.h"

#define FRAME_MS 8
/* Long enough for some looks at the thread, of which there are 50 in a second. */
#define LATE_MS	   80
#define ROUND	   90
#define ROUNDS_MAX 20
#define MS	   1000000ull

#define NAMED(name) __attribute__((noinline, noclone)) static void name(void)

static struct device device;
static struct window window;
static struct work main_work, streamer_work;
static VkCommandBuffer shadows, textures;
static VkFence shadows_done, textures_done;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t present_begin[ROUND * ROUNDS_MAX + 1], present_end[ROUND * ROUNDS_MAX + 1];

static void sleep_until(uint64_t time_ns)
{
	const struct timespec time = { .tv_sec = (time_t)(time_ns / 1000000000),
				       .tv_nsec = (long)(time_ns % 1000000000) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static void start_thread(pthread_t *thread, void *(*function)(void *), void *data)
{
	NEED(!pthread_create(thread, NULL, function, data));
}

/* Of the calling thread. */
static void name_thread(const char *name)
{
	NEED(!pthread_setname_np(pthread_self(), name));
}

/* --- work of the GPU */

static void submit(VkCommandBuffer buffer, VkFence fence)
{
	const VkSubmitInfo info = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.commandBufferCount = 1,
		.pCommandBuffers = &buffer,
	};

	pthread_mutex_lock(&queue_lock);
	NEED(vkQueueSubmit(device.queue[0], 1, &info, fence) == VK_SUCCESS);
	pthread_mutex_unlock(&queue_lock);
}

static void wait_for(VkFence fence)
{
	NEED(vkWaitForFences(device.handle, 1, &fence, VK_TRUE, UINT64_MAX) == VK_SUCCESS);
	NEED(vkResetFences(device.handle, 1, &fence) == VK_SUCCESS);
}

/* Rounds of a command buffer that takes as long as a frame is to be late. */
static uint32_t long_rounds(void)
{
	uint32_t rounds = 1000;
	uint64_t from, took;

	for (;;) {
		submit(record_work(&device, &main_work, rounds), shadows_done);
		from = now();
		wait_for(shadows_done);
		took = now() - from;
		/* The first one may have been compiled. */
		if (took > 15 * MS && rounds > 1000)
			return (uint32_t)(rounds * (LATE_MS * MS) / took);
		rounds *= 4;
	}
}

static void make_passes(void)
{
	uint32_t rounds;

	make_work(&device, &main_work);
	make_work(&device, &streamer_work);
	shadows_done = make_fence(&device);
	textures_done = make_fence(&device);
	rounds = long_rounds();
	shadows = record_work(&device, &main_work, rounds);
	textures = record_work(&device, &streamer_work, rounds);
	give_name(&device, VK_OBJECT_TYPE_COMMAND_BUFFER, shadows, "shadows");
	give_name(&device, VK_OBJECT_TYPE_COMMAND_BUFFER, textures, "textures");
}

/* --- reasons */

NAMED(simulate_crowd)
{
	uint64_t until = now() + LATE_MS * MS;
	volatile unsigned int sum = 0;

	while (now() < until)
		for (unsigned int i = 0; i < 100000; i++)
			sum += i;
}

NAMED(load_level)
{
	sleep_until(now() + LATE_MS * MS);
}

/**
 * struct other - what the frame's thread and another one share
 * @begun: the other one has what it is to have
 */
struct other {
	pthread_mutex_t mutex;
	sem_t begun;
	int pipe[2];
};

static void *hold_mutex(void *data)
{
	struct other *other = data;

	name_thread("autosave");
	pthread_mutex_lock(&other->mutex);
	sem_post(&other->begun);
	sleep_until(now() + LATE_MS * MS);
	pthread_mutex_unlock(&other->mutex);
	return NULL;
}

NAMED(save_game)
{
	struct other other = { .mutex = PTHREAD_MUTEX_INITIALIZER };
	pthread_t thread;

	NEED(!sem_init(&other.begun, 0, 0));
	start_thread(&thread, hold_mutex, &other);
	NEED(!sem_wait(&other.begun));
	pthread_mutex_lock(&other.mutex);
	pthread_mutex_unlock(&other.mutex);
	pthread_join(thread, NULL);
}

static void *write_late(void *data)
{
	struct other *other = data;

	name_thread("disk");
	sleep_until(now() + LATE_MS * MS);
	NEED(write(other->pipe[1], "", 1) == 1);
	return NULL;
}

NAMED(read_asset)
{
	struct other other = { 0 };
	pthread_t thread;
	char byte;

	NEED(!pipe(other.pipe));
	start_thread(&thread, write_late, &other);
	NEED(read(other.pipe[0], &byte, 1) == 1);
	pthread_join(thread, NULL);
	close(other.pipe[0]);
	close(other.pipe[1]);
}

/* Waited for with the image, which is filled after it. */
NAMED(draw_shadows)
{
	submit(shadows, shadows_done);
}

static void *upload_textures(void *data)
{
	name_thread("streamer");
	submit(textures, textures_done);
	sem_post(data);
	return NULL;
}

NAMED(stream_textures)
{
	pthread_t thread;
	sem_t begun;

	NEED(!sem_init(&begun, 0, 0));
	start_thread(&thread, upload_textures, &begun);
	NEED(!sem_wait(&begun));
	pthread_join(thread, NULL);
}

/* Each with another constant, so that the driver compiles it. */
NAMED(compile_materials)
{
	static uint32_t summand;
	const VkSpecializationMapEntry entry = { .size = sizeof(summand) };
	const VkSpecializationInfo constant = { 1, &entry, sizeof(summand), &summand };
	VkComputePipelineCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
		.stage = {
			.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
			.stage = VK_SHADER_STAGE_COMPUTE_BIT,
			.pName = "main",
			.pSpecializationInfo = &constant,
		},
		.layout = main_work.layout,
	};
	uint64_t until = now() + LATE_MS * MS;
	VkPipeline made;

	while (now() < until) {
		summand += 2;
		info.stage.module = make_compute_module(&device);
		NEED(vkCreateComputePipelines(device.handle, VK_NULL_HANDLE, 1, &info, NULL,
					      &made) == VK_SUCCESS);
		vkDestroyPipeline(device.handle, made, NULL);
		vkDestroyShaderModule(device.handle, info.stage.module, NULL);
	}
}

static const struct {
	unsigned int frame;
	const char *reason;
	const char *function;
	void (*plan)(void);
	VkFence *fence;
} plans[] = {
	{ 10, "cpu", "simulate_crowd", simulate_crowd, NULL },
	{ 20, "sleep", "load_level", load_level, NULL },
	{ 30, "mutex", "save_game", save_game, NULL },
	{ 40, "read", "read_asset", read_asset, NULL },
	{ 50, "gpu", "wait_for_gpu", draw_shadows, &shadows_done },
	{ 60, "queue", "wait_for_gpu", stream_textures, &textures_done },
	{ 70, "compile", "compile_materials", compile_materials, NULL },
};

#define PLANS (sizeof(plans) / sizeof(plans[0]))

/* Of the layer below; 0: none. */
static unsigned int acquire_frame(void)
{
	const char *below = getenv("BELOW"), *word = below ? strstr(below, "acquire=") : NULL;

	return word ? (unsigned int)atoi(word + strlen("acquire=")) : 0;
}

/* --- frames */

__attribute__((noinline)) static void wait_for_gpu(uint32_t image, const VkFence *planned)
{
	wait_for_image(&window, image);
	if (planned)
		wait_for(*planned);
}

static void show_frame(unsigned int frame)
{
	const VkFence *planned = NULL;
	uint32_t image;

	for (size_t i = 0; i < PLANS; i++) {
		if (plans[i].frame != (frame - 1) % ROUND + 1)
			continue;
		plans[i].plan();
		planned = plans[i].fence;
	}
	image = acquire_image(&window);
	pthread_mutex_lock(&queue_lock);
	fill_image(&window, device.queue[0], image);
	pthread_mutex_unlock(&queue_lock);
	wait_for_gpu(image, planned);
	pthread_mutex_lock(&queue_lock);
	present_begin[frame] = now();
	NEED(present_image(&window, device.queue[0], image, NULL) >= 0);
	present_end[frame] = now();
	pthread_mutex_unlock(&queue_lock);
}

static void show_frames(unsigned int frames)
{
	uint64_t next = now() + FRAME_MS * MS;

	present_end[0] = now();
	for (unsigned int frame = 1; frame <= frames; frame++) {
		show_frame(frame);
		sleep_until(next);
		next += FRAME_MS * MS;
		if (next < now())
			next = now() + FRAME_MS * MS;
	}
}

static void print_late(unsigned int frame, const char *reason, const char *function, bool is_first)
{
	printf("%s{\"frame\": %u, \"reason\": \"%s\", \"function\": \"%s\", \"ms\": %.1f}",
	       is_first ? "" : ", ", frame, reason, function,
	       (double)(present_end[frame] - present_end[frame - 1]) / MS);
}

static void print_account(unsigned int frames)
{
	unsigned int acquire = acquire_frame(), count = 0;

	printf("{\"process\": %d, \"frames\": %u, \"frame_ms\": %u, \"late\": [", (int)getpid(),
	       frames, FRAME_MS);
	for (unsigned int frame = 1; frame <= frames; frame++) {
		for (size_t i = 0; i < PLANS; i++)
			if (plans[i].frame == (frame - 1) % ROUND + 1)
				print_late(frame, plans[i].reason, plans[i].function, !count++);
		if (frame == acquire)
			print_late(frame, "acquire", "acquire_image", !count++);
	}
	printf("], \"presents\": [");
	for (unsigned int frame = 1; frame <= frames; frame++)
		printf("%s[%llu, %llu]", frame > 1 ? ", " : "",
		       (unsigned long long)present_begin[frame],
		       (unsigned long long)present_end[frame]);
	printf("]}\n");
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;

	NEED(rounds >= 1 && rounds <= ROUNDS_MAX);
	begin_showing(&device, true, 0, NULL, NULL);
	make_passes();
	make_window(&window, &device, 64, 64);
	make_swapchain(&window, VK_PRESENT_MODE_IMMEDIATE_KHR);
	show_frames(rounds * ROUND);
	print_account(rounds * ROUND);
	NEED(vkDeviceWaitIdle(device.handle) == VK_SUCCESS);
	end_window(&window);
	return 0;
}
