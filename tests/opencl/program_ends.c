// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Programs that have waited for their work, in all ways, and then end without exit(). */
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "program.h"

/* Of each queue: more than the library asks for one by one where the program waits for a single event. */
#define KERNELS 600

static sem_t told;

static void CL_CALLBACK tell(cl_event event, cl_int status, void *data)
{
	(void)event;
	(void)status;
	(void)data;
	sem_post(&told);
}

/* Whether the last event is enough: the others have ended before it. */
static void wait_by(const char *how, cl_command_queue on, cl_event *events, unsigned int count)
{
	cl_event last = events[count - 1];
	cl_int status = CL_QUEUED, result;
	cl_mem buffer;
	char byte = 0;

	if (strcmp(how, "finish") == 0) {
		NEED(clFinish(on));
	} else if (strcmp(how, "barrier") == 0) {
		/* Of a queue that waits for this one. */
		NEED(clFlush(on));
		NEED(clEnqueueBarrierWithWaitList(queue, 1, &last, NULL));
		NEED(clFinish(queue));
	} else if (strcmp(how, "event") == 0) {
		NEED(clWaitForEvents(1, &last));
	} else if (strcmp(how, "events") == 0) {
		NEED(clWaitForEvents(count, events));
	} else if (strcmp(how, "poll") == 0) {
		NEED(clFlush(on));
		while (status != CL_COMPLETE)
			NEED(clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
					    &status, NULL));
	} else if (strcmp(how, "callback") == 0) {
		NEED(clSetEventCallback(last, CL_COMPLETE, tell, NULL));
		NEED(clFlush(on));
		sem_wait(&told);
	} else {
		buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 1, NULL, &result);
		need(result, "clCreateBuffer");
		if (strcmp(how, "read") == 0)
			NEED(clEnqueueReadBuffer(on, buffer, CL_TRUE, 0, 1, &byte, 0, NULL, NULL));
		else
			clEnqueueMapBuffer(on, buffer, CL_TRUE, CL_MAP_READ, 0, 1, 0, NULL, NULL,
					   &result);
		need(result, "clEnqueueMapBuffer");
	}
}

static void end_by(const char *how, char **argv)
{
	if (strcmp(how, "_exit") == 0)
		_exit(0);
	if (strcmp(how, "exit_group") == 0)
		syscall(SYS_exit_group, 0);
	if (strcmp(how, "exec") == 0)
		execl("/bin/true", "true", NULL);
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "again") == 0)
		execl(argv[0], argv[0], "ends", argv[2], "_exit", NULL);
	raise(strcmp(how, "term") == 0 ? SIGTERM : SIGKILL);
}

void mode_ends(char **argv)
{
	const char *wait = argv[2], *end = argv[3];
	bool in_order = strcmp(wait, "events") != 0;
	cl_command_queue other = make_queue(in_order ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	cl_event events[KERNELS];
	const size_t one = 1;

	sem_init(&told, 0, 0);
	for (unsigned int i = 0; i < KERNELS; i++)
		NEED(clEnqueueNDRangeKernel(other, empty, 1, NULL, &one, &one, 0, NULL,
					    &events[i]));
	wait_by(wait, other, events, KERNELS);
	printf("did clEnqueueNDRangeKernel %d 0\n", KERNELS);
	if (strcmp(wait, "read") == 0)
		printf("did clEnqueueReadBuffer 1 1\n");
	if (strcmp(wait, "map") == 0)
		printf("did clEnqueueMapBuffer 1 1\n");
	fflush(stdout);
	end_by(end, argv);
}
