/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The options of "record" and "correlate" that say what to record. */
#ifndef GPUMON_RECORD_OPTIONS_H
#define GPUMON_RECORD_OPTIONS_H

#include "abi/gpu_metrics.h"
#include "lib/options.h"
#include "session.h"

/* An option that sets or clears a bit of what is recorded. */
#define GPUMON_RECORD_BITS(session, name, kind, bits) \
	GPUMON_OPTION_RANGE(name, 0, kind, &(session)->recorder.settings.record, bits, 0)

/* Lines for a command's table of options. They fill in a struct gpumon_session_options. */
#define GPUMON_RECORD_OPTIONS(session)                                                             \
	GPUMON_OPTION_CALL("output", 'o', (session)->directory, gpumon_record_directory),          \
		GPUMON_OPTION_CALL("pid", 'p', session, gpumon_record_take_pid),                   \
		GPUMON_OPTION_CALL("cgroup", 0, session, gpumon_record_take_cgroup),               \
		GPUMON_OPTION_CALL("container", 0, session, gpumon_record_take_container),         \
		GPUMON_OPTION("no-attach", 0, GPUMON_OPTION_FLAG, &(session)->no_attach),          \
		GPUMON_OPTION("gl", 0, GPUMON_OPTION_FLAG, &(session)->opengl),                    \
		GPUMON_OPTION("duration", 'd', GPUMON_OPTION_TIME, &(session)->duration_ns),       \
		GPUMON_RECORD_BITS(session, "sync", GPUMON_OPTION_BITS,                            \
				   GPUMON_RECORD_SYNCHRONISATION),                                 \
		GPUMON_RECORD_BITS(session, "no-blocking", GPUMON_OPTION_NO_BITS,                  \
				   GPUMON_RECORD_BLOCKING),                                        \
		GPUMON_RECORD_BITS(session, "memory", GPUMON_OPTION_BITS,                          \
				   GPUMON_RECORD_ALLOCATIONS),                                     \
		GPUMON_RECORD_BITS(session, "unified-memory", GPUMON_OPTION_BITS,                  \
				   GPUMON_RECORD_UNIFIED),                                         \
		GPUMON_RECORD_BITS(session, "nvtx", GPUMON_OPTION_BITS, GPUMON_RECORD_RANGES),     \
		GPUMON_RECORD_BITS(session, "api", GPUMON_OPTION_BITS, GPUMON_RECORD_ALL_CALLS),   \
		GPUMON_RECORD_BITS(session, "latency", GPUMON_OPTION_BITS, GPUMON_RECORD_LATENCY), \
		GPUMON_RECORD_BITS(session, "hw-trace", GPUMON_OPTION_BITS,                        \
				   GPUMON_RECORD_HW_TRACE),                                        \
		GPUMON_OPTION_CALL("gpu-metrics", 0, &(session)->recorder.settings,                \
				   gpumon_record_take_gpu_metrics),                                \
		GPUMON_OPTION_RANGE("gpu-metrics", 0, GPUMON_OPTION_SET,                           \
				    &(session)->recorder.settings.metrics_interval_ns,             \
				    GPUMON_METRICS_INTERVAL_NS, 0),                                \
		GPUMON_OPTION_RANGE("stalls", 0, GPUMON_OPTION_U32,                                \
				    &(session)->recorder.settings.stalls_period,                   \
				    GPUMON_STALLS_PERIOD_MIN, GPUMON_STALLS_PERIOD_MAX),           \
		GPUMON_OPTION_RANGE("stalls", 0, GPUMON_OPTION_SET,                                \
				    &(session)->recorder.settings.stalls_period,                   \
				    GPUMON_STALLS_PERIOD_DEFAULT, 0),                              \
		GPUMON_RECORD_BITS(session, "passes", GPUMON_OPTION_BITS, GPUMON_RECORD_PASSES),   \
		GPUMON_RECORD_BITS(session, "no-times", GPUMON_OPTION_BITS,                        \
				   GPUMON_RECORD_NO_TIMES),                                        \
		GPUMON_RECORD_BITS(session, "no-stacks", GPUMON_OPTION_NO_BITS,                    \
				   GPUMON_RECORD_STACKS | GPUMON_RECORD_PYTHON),                   \
		GPUMON_RECORD_BITS(session, "no-python", GPUMON_OPTION_NO_BITS,                    \
				   GPUMON_RECORD_PYTHON),                                          \
		GPUMON_OPTION("no-driver", 0, GPUMON_OPTION_NO_FLAG, &(session)->recorder.driver), \
		GPUMON_OPTION("driver", 0, GPUMON_OPTION_FLAG,                                     \
			      &(session)->recorder.driver_wanted),                                 \
		GPUMON_OPTION("no-names", 0, GPUMON_OPTION_FLAG, &(session)->no_names),            \
		GPUMON_OPTION_CALL("graphs", 0, session, gpumon_record_take_graphs),               \
		GPUMON_OPTION_CALL("records", 0, session, gpumon_record_take_records),             \
		GPUMON_OPTION_CALL("windows", 0, &(session)->recorder.settings,                    \
				   gpumon_record_take_windows),                                    \
		GPUMON_OPTION_CALL("sample", 0, &(session)->recorder.settings,                     \
				   gpumon_record_take_sample),                                     \
		GPUMON_OPTION_RANGE("wait-samples", 0, GPUMON_OPTION_U32,                          \
				    &(session)->recorder.settings.wait_hz, 0, GPUMON_WAIT_HZ_MAX), \
		GPUMON_RECORD_BITS(session, "yield", GPUMON_OPTION_BITS, GPUMON_RECORD_YIELD),     \
		GPUMON_OPTION_CALL("window", 0, &(session)->recorder.settings,                     \
				   gpumon_record_take_window),                                     \
		GPUMON_OPTION_RANGE("buffer", 0, GPUMON_OPTION_SIZE,                               \
				    &(session)->recorder.channel_bytes, 1ULL << 20, 1ULL << 30),   \
		GPUMON_OPTION_CALL("cupti-buffer", 0, &(session)->recorder.settings,               \
				   gpumon_record_take_cupti_buffer),                               \
		GPUMON_OPTION_CALL("flush", 0, &(session)->recorder.settings,                      \
				   gpumon_record_take_flush),                                      \
		GPUMON_OPTION_RANGE("max-size", 0, GPUMON_OPTION_SIZE,                             \
				    &(session)->recorder.max_bytes, 1ULL << 20, 1ULL << 50),       \
		GPUMON_OPTION("run-as", 0, GPUMON_OPTION_TEXT, &(session)->run_as),                \
		GPUMON_OPTION_CALL("wait", 0, session, gpumon_record_take_wait),                   \
		GPUMON_OPTION_RANGE("stack-depth", 0, GPUMON_OPTION_U32,                           \
				    &(session)->recorder.settings.stack_depth, 1,                  \
				    GPUMON_STACK_DEPTH_MAX)

/* Used by these lines. */
int gpumon_record_take_cgroup(struct gpumon_context *context, const char *text, void *session);
int gpumon_record_take_container(struct gpumon_context *context, const char *text, void *session);
int gpumon_record_take_pid(struct gpumon_context *context, const char *text, void *session);
int gpumon_record_take_wait(struct gpumon_context *context, const char *text, void *session);
int gpumon_record_take_window(struct gpumon_context *context, const char *text, void *settings);
int gpumon_record_take_graphs(struct gpumon_context *context, const char *text, void *session);
int gpumon_record_take_records(struct gpumon_context *context, const char *text, void *session);
int gpumon_record_take_gpu_metrics(struct gpumon_context *context, const char *text,
				   void *settings);
int gpumon_record_take_windows(struct gpumon_context *context, const char *text, void *settings);
int gpumon_record_take_sample(struct gpumon_context *context, const char *text, void *settings);
int gpumon_record_take_cupti_buffer(struct gpumon_context *context, const char *text,
				    void *settings);
int gpumon_record_take_flush(struct gpumon_context *context, const char *text, void *settings);

/* Part of the help about these options. */
#define GPUMON_RECORD_HELP                                                                                \
	"  -o, --output DIR       new directory for the capture; %r in it is the rank,\n"                 \
	"                         %h the host, %p the pid\n"                                              \
	"  -p, --pid PID          record a running process; may be repeated\n"                            \
	"      --cgroup PATH      record all processes of a control group, also those to come\n"          \
	"      --container ID     record all processes of a container, likewise\n"                        \
	"      --no-attach        bring no library into a running process, use uprobes instead\n"         \
	"  -d, --duration TIME    stop recording after that time (seconds, 500ms, 2m, ...)\n"             \
	"      --run-as USER      run the program as USER, the owner of the capture; under sudo the\n"    \
	"                         default is the calling user\n"                                          \
	"      --wait WHICH       end recording when the program and all that it started have ended\n"    \
	"                         (all, the default), or when the program has ended (first)\n"            \
	"      --window WHAT      record only between cudaProfilerStart and Stop (profiler), or\n"        \
	"                         while an NVTX range is open (range:NAME)\n"                             \
	"      --yield            let the program's own profiler (torch.profiler) have CUPTI, if it\n"    \
	"                         does not share it; the capture has a gap in that time\n"                \
	"      --no-blocking      no calls that wait for the GPU, and no overhead of the API\n"           \
	"      --sync             also record what CUPTI itself says about waits for the GPU\n"           \
	"      --memory           also record allocations\n"                                              \
	"      --unified-memory   also record migrations and faults of unified memory\n"                  \
	"      --nvtx             also record NVTX ranges\n"                                              \
	"      --api              also record all other API calls (high overhead)\n"                      \
	"      --latency          also record when work was queued and submitted\n"                       \
	"      --hw-trace         have the GPU itself note when kernels begin and end; CUDA 13.5,\n"      \
	"                         Blackwell\n"                                                            \
	"      --gpu-metrics[=TIME]  also sample what the whole GPU does (SMs, tensor pipes, memory,\n"   \
	"                         PCIe, NVLink), once in 100us to 1s (1ms); CUDA 12.6\n"                  \
	"      --stalls[=N]       also sample what each instruction of a kernel waits for, once in 2^N\n" \
	"                         cycles of each multiprocessor, 5 to 31 (16); CUDA\n"                    \
	"      --passes           Vulkan: also time what is inside of command buffers: render passes,\n"  \
	"                         dispatches, copies, barriers\n"                                         \
	"      --gl               also record presents of OpenGL (EGL, GLX): preload a library into\n"    \
	"                         the program and all that it starts\n"                                   \
	"      --graphs=HOW       record each node of a graph always (nodes, the default) or in\n"        \
	"                         windows (windows), or each launch as one operation (whole)\n"           \
	"      --records HOW      record what the GPU does always (all, the default) or in windows\n"     \
	"                         (sampled)\n"                                                            \
	"      --windows TIME/PERIOD  how long such windows are, and how often there is one (1s/30s)\n"   \
	"      --sample 1/N       record the call path of one of N launches\n"                            \
	"      --wait-samples HZ  how often threads are looked at that wait outside of API calls, 0 to\n" \
	"                         1000 times a second, 0 for never (50)\n"                                \
	"      --no-times         HIP, OpenCL, Level Zero, Vulkan: count work without times,\n"           \
	"                         for drivers that are slow when they measure\n"                          \
	"      --no-stacks        no call paths\n"                                                        \
	"      --no-python        no Python functions in call paths\n"                                    \
	"      --driver           say why, if there are no events of the gpumon module\n"                 \
	"      --no-driver        no events of the gpumon module, also if it is loaded\n"                 \
	"      --no-names         store no function names: they are looked up when the capture is read\n" \
	"      --stack-depth N    at most N frames of a call path, 1 to 512 (128)\n"                      \
	"      --buffer SIZE      memory shared with each process, 1M to 1G (32M)\n"                      \
	"      --cupti-buffer SIZE[/EACH]  CUPTI's memory in each process at most, 4M to 4G (256M),\n"    \
	"                         and the size of one of its buffers, 16K to 16M (512K)\n"                \
	"      --flush TIME       how often CUPTI is asked for what the GPU did, 20ms to 10s (500ms)\n"   \
	"      --max-size SIZE    end recording when the capture is that large\n"

/* Set the defaults. */
void gpumon_record_options_default(struct gpumon_session_options *options);

/* Options that do not go together. Returns 0, or an exit status after calling gpumon_usage(). */
int gpumon_record_options_check(struct gpumon_context *context,
				const struct gpumon_session_options *options);

/**
 * gpumon_record_privileges - keep only the privileges that this recording needs, and change the
 * user
 * @context: context
 * @options: complete options
 * @with_bpf: there may be BPF programs for the CPU beside the recording
 *
 * Call it before anything is opened or created.
 *
 * Return: 0, or an exit status after reporting the failure.
 */
int gpumon_record_privileges(struct gpumon_context *context,
			     const struct gpumon_session_options *options, bool with_bpf);

/**
 * gpumon_record_directory - expand the name of a capture, for one per rank or host
 * @context: context
 * @text: name, with %h for the host, %p for our pid, %r for the rank, %% for a percent sign
 * @name: out, PATH_MAX bytes
 *
 * Return: 0, or -1 after calling gpumon_usage().
 */
int gpumon_record_directory(struct gpumon_context *context, const char *text, void *name);

#endif /* GPUMON_RECORD_OPTIONS_H */
