// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "base/inject.h"
#include "clock.h"

#define ROUNDS 20

static const char text[] = ".version 6.0\n"
			   ".target sm_50\n"
			   ".address_size 64\n"
			   ".visible .entry gpumon_clock(.param .u64 out)\n"
			   "{\n"
			   "	.reg .b64 %to, %now;\n"
			   "	ld.param.u64 %to, [out];\n"
			   "	mov.u64 %now, %globaltimer;\n"
			   "	st.global.u64 [%to], %now;\n"
			   "	ret;\n"
			   "}\n";

/**
 * struct bounds - what is known of the offset
 * @low: at least
 * @high: at most
 */
struct bounds {
	int64_t low;
	int64_t high;
};

static bool narrow(CUfunction function, CUstream stream, CUdeviceptr memory, struct bounds *bounds)
{
	void *parameters[] = { &memory };
	uint64_t begin = inject_now(), end, on_gpu = 0;

	if (inject_probe_driver.launch(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL) !=
		    CUDA_SUCCESS ||
	    inject_probe_driver.stream_wait(stream) != CUDA_SUCCESS)
		return false;
	end = inject_now();
	if (inject_probe_driver.copy_out(&on_gpu, memory, sizeof(on_gpu), stream) != CUDA_SUCCESS ||
	    inject_probe_driver.stream_wait(stream) != CUDA_SUCCESS)
		return false;
	if ((int64_t)(begin - on_gpu) > bounds->low)
		bounds->low = (int64_t)(begin - on_gpu);
	if ((int64_t)(end - on_gpu) < bounds->high)
		bounds->high = (int64_t)(end - on_gpu);
	return true;
}

bool inject_probe_clock(CUstream stream, CUdeviceptr memory, int64_t *offset_ns,
			uint64_t *error_ns)
{
	struct bounds bounds = { .low = INT64_MIN, .high = INT64_MAX };
	CUfunction function;
	CUmodule module;
	bool known;

	if (inject_probe_driver.module_load(&module, text) != CUDA_SUCCESS)
		return false;
	known = inject_probe_driver.module_function(&function, module, "gpumon_clock") ==
		CUDA_SUCCESS;
	for (int i = 0; known && i < ROUNDS; i++)
		known = narrow(function, stream, memory, &bounds);
	inject_probe_driver.module_unload(module);
	if (!known || bounds.low > bounds.high)
		return false;
	*error_ns = (uint64_t)(bounds.high - bounds.low + 1) / 2;
	*offset_ns = bounds.low + (int64_t)*error_ns;
	return true;
}
