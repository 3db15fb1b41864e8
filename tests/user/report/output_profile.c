// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "output_profile.h"
#include "report/distribution.h"
#include "report/view.h"

struct gpumon_node *made_node(struct gpumon_node *parent, enum gpumon_node_kind kind,
			      const char *name, uint64_t count, uint64_t gpu_ns, uint64_t cpu_ns)
{
	struct gpumon_node *node = calloc(1, sizeof(*node)), **at;

	if (!node)
		abort();
	node->name = strdup(name);
	node->module = "";
	node->line = "";
	node->kind = kind;
	node->count = count;
	node->gpu_ns = gpu_ns;
	node->cpu_ns = cpu_ns;
	node->parent = parent;
	if (!parent)
		return node;
	/* Sorted by name, like a finished profile. */
	for (at = &parent->child; *at && strcmp((*at)->name, name) < 0; at = &(*at)->next)
		;
	node->next = *at;
	*at = node;
	return node;
}

struct gpumon_node *made_place(struct gpumon_node *parent, const char *name, const char *module)
{
	struct gpumon_node *node = made_node(parent, GPUMON_NODE_FUNCTION, name, 0, 0, 0);

	node->module = module;
	return node;
}

void made_free(struct gpumon_node *root)
{
	while (root->child) {
		struct gpumon_node *child = root->child;

		root->child = child->next;
		made_free(child);
	}
	free((char *)root->name);
	free(root);
}

static struct gpumon_node *at_line(struct gpumon_node *node, const char *module, const char *line)
{
	node->module = module;
	node->line = line;
	return node;
}

/* What a thread did outside of calls, and how long a GPU was idle meanwhile. */
static void made_state(struct gpumon_node *parent, const char *name, uint64_t wall_ns,
		       uint64_t idle_ns, uint64_t idle_count, uint64_t idle_longest_ns)
{
	struct gpumon_node *node = made_node(parent, GPUMON_NODE_STATE, name, 0, 0, 0);

	node->wall_ns = wall_ns;
	node->idle_ns = idle_ns;
	node->idle_count = idle_count;
	node->idle_longest_ns = idle_longest_ns;
}

static const char add_kernel[] =
	"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)";
static const char gelu_kernel[] =
	"void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}, std::array<char*, 2ul>)";
static const char gemm_kernel[] =
	"sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas";
static const char norm_kernel[] =
	"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float, float const*, float const*, float const*, float*, float*, float*)";
static const char attention_kernel[] =
	"fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float, cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)";

static struct gpumon_node *operators(struct gpumon_node *python, const char *operator_name,
				     const char *implementation)
{
	struct gpumon_node *node;

	node = at_line(made_node(python, GPUMON_NODE_FUNCTION, operator_name, 0, 0, 0),
		       "libtorch_python.so", "");
	node = at_line(made_node(node, GPUMON_NODE_FUNCTION, implementation, 0, 0, 0),
		       "libtorch_cuda.so", "");
	return node;
}

static void layer(struct gpumon_node *forward, const char *call, unsigned int number)
{
	uint64_t steps = 200;
	struct gpumon_node *block, *node;

	block = at_line(made_node(forward, GPUMON_NODE_PYTHON, call, 0, 0, 0), "model.py",
			"model.py:88");
	node = at_line(made_node(block, GPUMON_NODE_PYTHON, "Linear.forward", 0, 0, 0), "linear.py",
		       "torch/nn/modules/linear.py:125");
	node = operators(node, "torch::autograd::THPVariable_linear", "at::native::addmm_cuda");
	node = at_line(made_node(node, GPUMON_NODE_FUNCTION, "cublasLtMatmul", 0, 0, 0),
		       "libcublasLt.so.13", "");
	node = made_node(node, GPUMON_NODE_API, "cudaLaunchKernelExC", 0, 0, 0);
	node->wall_ns = 30000000;
	node->idle_ns = 5500000;
	node->idle_count = 50;
	node->idle_longest_ns = 1000000;
	made_state(node, "[queued]", 0, 2000000, 25, 90000);
	made_node(node, GPUMON_NODE_KERNEL, gemm_kernel, 4 * steps, 4 * steps * (41250 + number),
		  4 * steps * 2900);
	node = at_line(made_node(block, GPUMON_NODE_PYTHON, "LayerNorm.forward", 0, 0, 0),
		       "normalization.py", "torch/nn/modules/normalization.py:217");
	node = operators(node, "torch::autograd::THPVariable_layer_norm",
			 "at::native::layer_norm_cuda");
	node = made_node(node, GPUMON_NODE_API, "cudaLaunchKernel", 0, 0, 0);
	made_node(node, GPUMON_NODE_KERNEL, norm_kernel, 2 * steps, 2 * steps * 6120,
		  2 * steps * 2700);
	node = at_line(made_node(block, GPUMON_NODE_PYTHON, "gelu", 0, 0, 0), "functional.py",
		       "torch/nn/functional.py:1733");
	node = operators(node, "torch::autograd::THPVariable_gelu", "at::native::gelu_out_cuda");
	node = made_node(node, GPUMON_NODE_API, "cudaLaunchKernel", 0, 0, 0);
	made_node(node, GPUMON_NODE_KERNEL, gelu_kernel, steps, steps * 9340, steps * 2650);
	node = at_line(made_node(block, GPUMON_NODE_PYTHON, "attention", 0, 0, 0), "model.py",
		       "model.py:61");
	node = operators(node, "torch::autograd::THPVariable_scaled_dot_product_attention",
			 "at::native::_efficient_attention_forward_cuda");
	node = made_node(node, GPUMON_NODE_API, "cudaLaunchKernel", 0, 0, 0);
	made_node(node, GPUMON_NODE_KERNEL, attention_kernel, steps, steps * 58700, steps * 2800);
	node = operators(block, "torch::autograd::THPVariable_add", "at::native::add_kernel_cuda");
	node = made_node(node, GPUMON_NODE_API, "cudaLaunchKernel", 0, 0, 0);
	made_node(node, GPUMON_NODE_KERNEL, add_kernel, 2 * steps, 2 * steps * 4410,
		  2 * steps * 2600);
}

static struct gpumon_node *training_tree(void)
{
	struct gpumon_node *root = made_node(NULL, GPUMON_NODE_ROOT, "all", 0, 0, 0);
	struct gpumon_node *node, *module, *step;

	node = at_line(made_node(root, GPUMON_NODE_FUNCTION, "_start", 0, 0, 0), "python3.12", "");
	node = at_line(made_node(node, GPUMON_NODE_FUNCTION, "Py_RunMain", 0, 0, 0), "python3.12",
		       "");
	module = at_line(made_node(node, GPUMON_NODE_PYTHON, "<module>", 0, 0, 0), "train.py",
			 "train.py:141");
	step = at_line(made_node(module, GPUMON_NODE_PYTHON, "train_step", 0, 0, 0), "train.py",
		       "train.py:97");
	node = at_line(made_node(step, GPUMON_NODE_PYTHON, "Transformer.forward", 0, 0, 0),
		       "model.py", "model.py:120");
	layer(node, "Block.forward", 0);
	layer(node, "CrossBlock.forward", 7);
	made_state(node, "[running]", 40000000, 0, 0, 0);
	made_state(step, "[between calls]", 200000000, 40000000, 200, 4500000);
	made_node(step, GPUMON_NODE_API, "cudaStreamSynchronize", 0, 0, 0)->wall_ns = 12000000;
	node = at_line(made_node(step, GPUMON_NODE_PYTHON, "zero_grad", 0, 0, 0), "optimizer.py",
		       "torch/optim/optimizer.py:1012");
	node = made_node(node, GPUMON_NODE_API, "cudaMemsetAsync", 0, 0, 0);
	node->wall_ns = 25000000;
	made_node(node, GPUMON_NODE_SET, "[set]", 2400, 2400 * 1510, 2400 * 1800);
	node = at_line(made_node(module, GPUMON_NODE_PYTHON, "load_batch", 0, 0, 0), "data.py",
		       "data.py:33");
	made_state(node, "[read of a file]", 50000000, 20000000, 20, 8123456);
	made_state(node, "[sleep]", 9000000, 0, 0, 0);
	node = made_node(node, GPUMON_NODE_API, "cudaMemcpyAsync", 0, 0, 0);
	node->wall_ns = 9000000;
	made_state(node, "[module loading]", 6000000, 6000000, 1, 6000000);
	made_node(node, GPUMON_NODE_COPY, "[copy pinned to device]", 400, 400 * 81000, 400 * 4100);
	node = at_line(made_node(root, GPUMON_NODE_FUNCTION, "torch::autograd::Engine::thread_main",
				 0, 0, 0),
		       "libtorch_cpu.so", "");
	made_state(node, "[between calls]", 300000000, 0, 0, 0);
	node = at_line(made_node(node, GPUMON_NODE_FUNCTION,
				 "torch::autograd::generated::AddmmBackward0::apply", 0, 0, 0),
		       "libtorch_cpu.so", "");
	node = made_node(node, GPUMON_NODE_API, "cudaLaunchKernelExC", 0, 0, 0);
	node->wall_ns = 90000000;
	made_node(node, GPUMON_NODE_KERNEL, gemm_kernel, 3200, 3200ULL * 43900, 3200 * 2950);
	made_state(root, "[before the first call]", 22000000, 0, 0, 0);
	made_state(root, "[after the last call]", 11000000, 0, 0, 0);
	made_state(root, "[before the first operation]", 0, 2000000, 1, 2000000);
	made_state(root, "[after the last operation]", 0, 3000000, 1, 3000000);
	node = made_node(root, GPUMON_NODE_REASON, "[kernel without stack]", 0, 0, 0);
	made_node(node, GPUMON_NODE_KERNEL, norm_kernel, 12, 12 * 6100, 0);
	node = made_node(root, GPUMON_NODE_REASON, "[launched by CUDA]", 0, 0, 0);
	made_node(node, GPUMON_NODE_SET, "[set]", 7, 7 * 1400, 0);
	return root;
}

#define KERNELS 6
#define DEVICES 4
#define RANGES	3
#define GAPS	3
#define NOTES	1
#define THREADS 2

struct training {
	struct gpumon_kernel_row kernels[KERNELS];
	struct gpumon_device_row devices[DEVICES];
	struct gpumon_range_row ranges[RANGES];
	struct gpumon_gap gaps[GAPS];
	struct gpumon_budget_row budget[THREADS];
	struct gpumon_idle_row idle;
	struct gpumon_distribution durations[KERNELS];
	struct gpumon_distribution latencies[KERNELS];
	struct gpumon_distribution latency;
	struct gpumon_correlate_counts counts;
	uint64_t losses[GPUMON_LOSS_CAUSES];
	struct gpumon_capture_damage damage;
	struct gpumon_scan scan;
	struct gpumon_scan_process process;
	struct gpumon_scan_row rows[DEVICES];
	char *notes[NOTES];
};

/* Reproducible numbers. */
static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

static void add_around(struct gpumon_distribution *distribution, uint64_t value, unsigned int n)
{
	uint64_t state = value;

	for (unsigned int i = 0; i < n; i++) {
		uint64_t spread = next_random(&state) % 1000;
		uint64_t added = value * (900 + spread / 4) / 1000;

		if (spread > 985)
			added *= 3 + spread % 40;
		gpumon_distribution_add(distribution, added);
	}
}

static void training_kernels(struct training *training)
{
	static const struct {
		const char *name;
		enum gpumon_work_kind kind;
		uint64_t count, each, latency;
	} made[KERNELS] = {
		{ gemm_kernel, GPUMON_WORK_KERNEL, 4800, 42950, 6800 },
		{ attention_kernel, GPUMON_WORK_KERNEL, 400, 58700, 9100 },
		{ "[copy pinned to device]", GPUMON_WORK_COPY, 400, 81000, 12000 },
		{ norm_kernel, GPUMON_WORK_KERNEL, 812, 6120, 7100 },
		{ gelu_kernel, GPUMON_WORK_KERNEL, 400, 9340, 7400 },
		{ add_kernel, GPUMON_WORK_KERNEL, 800, 4410, 6900 },
	};

	for (unsigned int i = 0; i < KERNELS; i++) {
		struct gpumon_kernel_row *row = &training->kernels[i];

		add_around(&training->durations[i], made[i].each, 500);
		add_around(&training->latencies[i], made[i].latency, 500);
		row->name = made[i].name;
		row->mangled = made[i].name;
		row->kind = made[i].kind;
		row->count = made[i].count;
		row->gpu_ns = made[i].count * made[i].each;
		row->duration = &training->durations[i];
		row->latency = &training->latencies[i];
	}
	add_around(&training->latency, 7000, 6000);
}

#define BINS 240

static void training_devices(struct training *training)
{
	static const uint32_t streams[DEVICES] = { ~0u, 7, 13, 20 };
	static const uint64_t busy[DEVICES] = { 331, 290, 38, 12 };

	for (unsigned int i = 0; i < DEVICES; i++) {
		struct gpumon_device_row *row = &training->devices[i];
		uint64_t state = i + 1;

		row->host = "gpu-1";
		row->name = "NVIDIA H100 80GB HBM3";
		snprintf(row->uuid, sizeof(row->uuid), "6f1c2b7e-0000-4e1f-9d3a-00000000abcd");
		row->device = 0;
		row->context = 1;
		row->stream = streams[i];
		row->count = 9627 / (i + 1);
		row->gpu_ns = busy[i] * 1020000;
		row->busy_ns = busy[i] * 1000000;
		row->first_ns = 1000000000;
		row->last_ns = 1412000000;
		row->idle_longest_ns = 8123456 * (i + 1);
		training->rows[i].context = 1;
		training->rows[i].stream = streams[i];
		training->rows[i].busy_ns = calloc(BINS, sizeof(uint64_t));
		for (unsigned int bin = 8 * i; bin < BINS - i; bin++) {
			uint64_t part = next_random(&state) % 1000;

			if (bin / 20 % 6 == 5)
				part /= 12;
			training->rows[i].busy_ns[bin] =
				1737500 * part / 1000 * (i < 2 ? 1 : bin % (5 * i) == 0);
		}
	}
}

/* As the states and calls of the tree. */
static void training_budget(struct training *training)
{
	training->budget[0] = (struct gpumon_budget_row){
		.tid = 4242,
		.name = "python3",
		.wall_ns = 417000000,
		.spent_ns = { [GPUMON_SPENT_BEFORE] = 5000000,
			      [GPUMON_SPENT_LAUNCH] = 100000000,
			      [GPUMON_SPENT_GPU_WAIT] = 12000000,
			      [GPUMON_SPENT_BETWEEN] = 200000000,
			      [GPUMON_SPENT_RUNNING] = 40000000,
			      [GPUMON_SPENT_BLOCKED] = 59000000,
			      [GPUMON_SPENT_AFTER] = 1000000 },
		.blocked_ns = { [GPUMON_WAIT_READ] = 50000000, [GPUMON_WAIT_SLEEP] = 9000000 },
		.launches = 6800,
		.gpu_waits = 200,
		.gaps = 6999,
		.gap_longest_ns = 8900000,
		.looks = 21,
		.looks_hz = 50.2,
	};
	training->budget[1] = (struct gpumon_budget_row){
		.tid = 4250,
		.name = "pt_autograd_0",
		.wall_ns = 417000000,
		.spent_ns = { [GPUMON_SPENT_BEFORE] = 17000000,
			      [GPUMON_SPENT_LAUNCH] = 90000000,
			      [GPUMON_SPENT_BETWEEN] = 300000000,
			      [GPUMON_SPENT_AFTER] = 10000000 },
		.launches = 3200,
		.gaps = 3199,
		.gap_longest_ns = 1200000,
		.unsampled_ns = 4000000,
	};
	training->idle = (struct gpumon_idle_row){
		.before_ns = 2000000,
		.after_ns = 3000000,
		.between_ns = 81000000,
		.overhead_ns = { [GPUMON_OVERHEAD_MODULE_LOADING] = 6000000 },
		.queued_ns = 4000000,
		.gaps = 371,
		.longest_ns = 8123456,
	};
}

void made_training(struct gpumon_view *view)
{
	struct training *training = calloc(1, sizeof(*training));

	if (!training)
		abort();
	training_kernels(training);
	training_devices(training);
	training_budget(training);
	training->ranges[0] =
		(struct gpumon_range_row){ "", "step", 200, 398000000, 9100, 330000000, 0, 0 };
	training->ranges[1] =
		(struct gpumon_range_row){ "", "forward", 200, 171000000, 5200, 148200000, 0, 0 };
	training->ranges[2] = (struct gpumon_range_row){
		"data", "load <batch> & \"go\"", 400, 22000000, 400, 32400000, 0, 0
	};
	training->gaps[0] = (struct gpumon_gap){ 0,	     0,		 0,
						 1086000000, 1094123456, "cudaStreamSynchronize",
						 0,	     0 };
	training->gaps[1] = (struct gpumon_gap){ 0,	     0,		 0,
						 1205000000, 1209500000, "load <batch> & \"go\"",
						 0,	     0 };
	training->gaps[2] = (struct gpumon_gap){ 0, 0, 0, 1301000000, 1302100000, "", 0, 0 };
	training->counts.works[GPUMON_WORK_KERNEL][GPUMON_MATCH_STACK] = 7200;
	training->counts.works[GPUMON_WORK_KERNEL][GPUMON_MATCH_NO_STACK] = 12;
	training->counts.works[GPUMON_WORK_COPY][GPUMON_MATCH_STACK] = 400;
	training->counts.works[GPUMON_WORK_SET][GPUMON_MATCH_STACK] = 2400;
	training->counts.works[GPUMON_WORK_SET][GPUMON_MATCH_INTERNAL] = 7;
	training->counts.launches = 10000;
	training->counts.unmatched_launches[GPUMON_LAUNCH_UNMATCHED] = 3;
	training->counts.unmatched_launches[GPUMON_LAUNCH_REFUSED] = 1;
	training->losses[GPUMON_LOSS_CHANNEL_FULL] = 41;
	training->losses[GPUMON_LOSS_WITHHELD] = 3;
	training->process = (struct gpumon_scan_process){
		.pid = 4242,
		.host_pid = 4242,
		.rank = ~0u,
		.host = (char *)"gpu-1",
		.executable = (char *)"/usr/bin/python3.12",
		.command = (char *)"python3 train.py --layers 2 --steps 200",
		.cupti_version = 130000,
		.driver_version = 13000,
	};
	training->notes[0] = (char *)"NVTX: only while the window was open";
	training->scan = (struct gpumon_scan){
		.created_ns = 1763740800ULL * 1000000000,
		.ended = true,
		.host = (char *)"gpu-1",
		.command = (char *)"python3 train.py --layers 2 --steps 200",
		.processes = &training->process,
		.process_count = 1,
		.notes = training->notes,
		.note_count = NOTES,
		.first_ns = 998000000,
		.bin_ns = 1737500,
		.bins = BINS,
		.rows = training->rows,
		.row_count = DEVICES,
	};
	*view = (struct gpumon_view){
		.root = training_tree(),
		.kernels = training->kernels,
		.kernel_count = KERNELS,
		.devices = training->devices,
		.device_count = DEVICES,
		.ranges = training->ranges,
		.range_count = RANGES,
		.gaps = training->gaps,
		.gap_count = GAPS,
		.budget = training->budget,
		.budget_count = THREADS,
		.idle = &training->idle,
		.idle_count = 1,
		.latency = &training->latency,
		.counts = &training->counts,
		.losses = training->losses,
		.damage = &training->damage,
		.first_ns = 998000000,
		.last_ns = 1415000000,
		.scan = &training->scan,
	};
}

void made_training_free(struct gpumon_view *view)
{
	/* Everything is in one block of memory, which begins with the kernels. */
	struct training *training = (struct training *)view->kernels;

	made_free((struct gpumon_node *)view->root);
	for (unsigned int i = 0; i < KERNELS; i++) {
		gpumon_distribution_clear(&training->durations[i]);
		gpumon_distribution_clear(&training->latencies[i]);
	}
	for (unsigned int i = 0; i < DEVICES; i++)
		free(training->rows[i].busy_ns);
	gpumon_distribution_clear(&training->latency);
	free(training);
	memset(view, 0, sizeof(*view));
}
