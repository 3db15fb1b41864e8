/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Metrics of a GPU that are recorded with --gpu-metrics, under the names that CUPTI has for them. The
 * library takes as many as the GPU counts at the same time, and a reader knows what each one means.
 */
#ifndef GPUMON_ABI_GPU_METRICS_H
#define GPUMON_ABI_GPU_METRICS_H

#include <stdint.h>

/**
 * enum gpumon_metric - what a metric means, the most important one first
 * @GPUMON_METRIC_SM_ACTIVE: SMs with at least one warp; percent of the time, over all SMs
 * @GPUMON_METRIC_OCCUPANCY: warps in active SMs; percent of the most that there can be
 * @GPUMON_METRIC_TENSOR: tensor pipes at work; percent of the time, over all SMs
 * @GPUMON_METRIC_DRAM: the GPU's memory; percent of its highest throughput
 * @GPUMON_METRIC_ISSUE: instructions issued; percent of the most that SMs can issue
 * @GPUMON_METRIC_DRAM_READ: bytes read from the GPU's memory
 * @GPUMON_METRIC_DRAM_WRITTEN: bytes written to it
 * @GPUMON_METRIC_PCIE_READ: bytes that the GPU read over PCIe
 * @GPUMON_METRIC_PCIE_WRITTEN: bytes that it wrote
 * @GPUMON_METRIC_NVLINK_RECEIVED: bytes that came over NVLink
 * @GPUMON_METRIC_NVLINK_SENT: bytes that left over NVLink
 * @GPUMON_METRIC_GR_ACTIVE: the engine for kernels and graphics had work; percent of the time
 * @GPUMON_METRIC_SM_CLOCK: clock of the SMs, in Hz
 */
enum gpumon_metric {
	GPUMON_METRIC_SM_ACTIVE,
	GPUMON_METRIC_OCCUPANCY,
	GPUMON_METRIC_TENSOR,
	GPUMON_METRIC_DRAM,
	GPUMON_METRIC_ISSUE,
	GPUMON_METRIC_DRAM_READ,
	GPUMON_METRIC_DRAM_WRITTEN,
	GPUMON_METRIC_PCIE_READ,
	GPUMON_METRIC_PCIE_WRITTEN,
	GPUMON_METRIC_NVLINK_RECEIVED,
	GPUMON_METRIC_NVLINK_SENT,
	GPUMON_METRIC_GR_ACTIVE,
	GPUMON_METRIC_SM_CLOCK,
	GPUMON_METRICS
};

/**
 * struct gpumon_metric_name - a name that CUPTI has for a metric
 * @metric: what it means
 * @name: of CUPTI. One that ends in ".sum" is counted in the time of a sample, others are means of it
 */
struct gpumon_metric_name {
	enum gpumon_metric metric;
	const char *name;
};

/*
 * In the order in which they are tried, those of one metric one after the other: GPUs have different
 * ones, and some cannot be counted together with others.
 */
static const struct gpumon_metric_name gpumon_metric_names[] = {
	{ GPUMON_METRIC_SM_ACTIVE, "sm__cycles_active.avg.pct_of_peak_sustained_elapsed" },
	{ GPUMON_METRIC_OCCUPANCY, "sm__warps_active.avg.pct_of_peak_sustained_active" },
	{ GPUMON_METRIC_TENSOR,
	  "sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed" },
	{ GPUMON_METRIC_TENSOR, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed" },
	{ GPUMON_METRIC_DRAM, "dram__throughput.avg.pct_of_peak_sustained_elapsed" },
	{ GPUMON_METRIC_ISSUE, "sm__inst_executed.avg.pct_of_peak_sustained_elapsed" },
	{ GPUMON_METRIC_ISSUE, "sm__inst_executed_realtime.avg.pct_of_peak_sustained_elapsed" },
	{ GPUMON_METRIC_DRAM_READ, "dram__bytes_read.sum" },
	{ GPUMON_METRIC_DRAM_READ, "dram__bytes_op_read.sum" },
	{ GPUMON_METRIC_DRAM_WRITTEN, "dram__bytes_write.sum" },
	{ GPUMON_METRIC_DRAM_WRITTEN, "dram__bytes_op_write.sum" },
	{ GPUMON_METRIC_PCIE_READ, "pcie__read_bytes.sum" },
	{ GPUMON_METRIC_PCIE_READ, "PCI.TriageCompute.pcie__read_bytes.sum" },
	{ GPUMON_METRIC_PCIE_WRITTEN, "pcie__write_bytes.sum" },
	{ GPUMON_METRIC_PCIE_WRITTEN, "PCI.TriageCompute.pcie__write_bytes.sum" },
	{ GPUMON_METRIC_NVLINK_RECEIVED, "nvlrx__bytes.sum" },
	{ GPUMON_METRIC_NVLINK_SENT, "nvltx__bytes.sum" },
	{ GPUMON_METRIC_GR_ACTIVE, "gr__cycles_active.avg.pct_of_peak_sustained_elapsed" },
	{ GPUMON_METRIC_SM_CLOCK, "gpc__cycles_elapsed.avg.per_second" },
};

#define GPUMON_METRIC_NAMES (sizeof(gpumon_metric_names) / sizeof(gpumon_metric_names[0]))

/* Distance of samples: that of --gpu-metrics without a time, and the limits. */
#define GPUMON_METRICS_INTERVAL_NS     1000000u
#define GPUMON_METRICS_INTERVAL_MIN_NS 100000u
#define GPUMON_METRICS_INTERVAL_MAX_NS 1000000000u

#endif /* GPUMON_ABI_GPU_METRICS_H */
