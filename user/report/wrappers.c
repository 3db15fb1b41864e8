// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "lib/text.h"
#include "wrappers.h"

/*
 * @pattern: matches the name without result and parameters
 * @file: last part of the Python file; NULL: machine code
 */
struct role {
	const char *pattern;
	const char *file;
	enum gpumon_frame_role role;
};

#define WRAPPER(name)                            \
	{                                        \
		name, NULL, GPUMON_FRAME_WRAPPER \
	}
#define WRAPPER_PYTHON(name, file)               \
	{                                        \
		name, file, GPUMON_FRAME_WRAPPER \
	}

static const struct role roles[] = {
	/* Every program and every thread begins with these. */
	WRAPPER("_start"),
	WRAPPER("__libc_start_*"),
	WRAPPER("clone"),
	WRAPPER("clone3"),
	WRAPPER("start_thread"),
	WRAPPER("execute_native_thread_routine"),
	WRAPPER("libc.so.*+0x*"),
	WRAPPER("libpthread.so.*+0x*"),
	WRAPPER("libstdc++.so.*+0x*"),
	/* The standard library calls a given function, which comes next. */
	WRAPPER("std::__invoke*"),
	WRAPPER("std::invoke*"),
	WRAPPER("std::_Function_handler<*"),
	WRAPPER("std::function<*>::operator()"),
	WRAPPER("std::thread::_*"),
	WRAPPER("std::__apply_impl*"),
	WRAPPER("std::apply*"),
	WRAPPER("std::_Bind<*"),
	WRAPPER("std::__future_base::*"),
	WRAPPER("std::packaged_task<*"),
	/* nvcc's stub between a kernel's <<<>>> and the runtime. The row names the kernel. */
	WRAPPER("__device_stub_*"),
	WRAPPER("__wrapper__device_stub_*"),
	WRAPPER("__cudaLaunchKernel*"),
	WRAPPER("cudaLaunchKernelEx<*"),
	WRAPPER("libcudart_static_*"),
	/* Boxing and unboxing in PyTorch's dispatcher: very long names, all alike. */
	WRAPPER("c10::impl::wrap_kernel_functor_*"),
	WRAPPER("c10::impl::make_boxed_from_unboxed_functor*"),
	WRAPPER("c10::impl::BoxedKernelWrapper*"),
	WRAPPER("c10::impl::call_functor_with_args_from_stack*"),
	WRAPPER("c10::impl::detail::WrapFunctionInto*"),
	WRAPPER("c10::BoxedKernel::*"),
	WRAPPER("c10::KernelFunction::call*"),
	WRAPPER("c10::Dispatcher::*"),
	WRAPPER("c10::TypedOperatorHandle<*"),
	WRAPPER("c10::OperatorHandle::*"),
	/* The same operator once per dispatch key. at::_ops::NAME::call already names it. */
	WRAPPER("at::_ops::*::redispatch"),
	WRAPPER("at::*::wrapper_*"),
	WRAPPER("torch::autograd::VariableType::*"),
	WRAPPER("torch::ADInplaceOrView::*"),
	WRAPPER("torch::TraceType::*"),
	/* From Python to the operator of that name. */
	WRAPPER("torch::autograd::THPVariable_*"),
	WRAPPER("torch::autograd::TypeError_to_NotImplemented_<*"),
	WRAPPER("pybind11::*"),
	/* The thread of the backward pass, the same for all operators. */
	WRAPPER("torch::autograd::Engine::*"),
	WRAPPER("torch::autograd::python::PythonEngine::*"),
	WRAPPER("torch::autograd::Node::operator()"),
	WRAPPER("torch::autograd::generated::*_apply_functional"),
	/* Names the operator of the forward pass; the Python frames are on another thread. */
	{ "torch::autograd::generated::*::apply", NULL, GPUMON_FRAME_TELLING },
	/* Hooks around each module, optimiser and decorated function. */
	WRAPPER_PYTHON("Module._call_impl", "module.py"),
	WRAPPER_PYTHON("Module._wrapped_call_impl", "module.py"),
	WRAPPER_PYTHON("Optimizer.profile_hook_step.*", "optimizer.py"),
	WRAPPER_PYTHON("_use_grad_for_differentiable.*", "optimizer.py"),
	WRAPPER_PYTHON("context_decorator.*", "_contextlib.py"),
	/* Between the function given to torch.compile and the code generated from it. */
	WRAPPER("dynamo_*"),
	WRAPPER_PYTHON("_TorchDynamoContext.*", "eval_frame.py"),
	WRAPPER_PYTHON("DisableContext.*", "eval_frame.py"),
	WRAPPER_PYTHON("aot_module_simplified.*", "aot_autograd.py"),
	WRAPPER_PYTHON("*", "runtime_wrappers.py"),
	WRAPPER_PYTHON("call_func_at_runtime_with_args", "utils.py"),
	WRAPPER_PYTHON("CompiledFxGraph.__call__", "output_code.py"),
	WRAPPER_PYTHON("align_inputs_from_check_idxs.*", "utils.py"),
};

/* Returns a name to free. */
static char *short_name(const char *name)
{
	size_t len = strlen(name) + 1;
	char *copy = gpumon_malloc(len);

	gpumon_text_function(copy, len, name);
	return copy;
}

/*
 * fnmatch() converts both texts from the locale's encoding: most names differ before the first star, and
 * most patterns end with it.
 */
static bool is_match(const char *pattern, const char *name)
{
	size_t at = 0;

	while (pattern[at] && pattern[at] != '*' && pattern[at] == name[at])
		at++;
	if (pattern[at] != '*')
		return pattern[at] == name[at];
	return !pattern[at + 1] || !fnmatch(pattern + at, name + at, 0);
}

enum gpumon_frame_role gpumon_frame_role(const struct gpumon_node *node)
{
	bool python = node->kind == GPUMON_NODE_PYTHON;
	enum gpumon_frame_role role = GPUMON_FRAME_PLAIN;
	char *name;

	if (!python && node->kind != GPUMON_NODE_FUNCTION)
		return role;
	name = short_name(node->name);
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		if (python != !!roles[i].file || !is_match(roles[i].pattern, name) ||
		    (python && strcmp(roles[i].file, node->module ? node->module : "")))
			continue;
		role = roles[i].role;
		break;
	}
	free(name);
	return role;
}

bool gpumon_frame_is_stub(const struct gpumon_node *node, const struct gpumon_node *work)
{
	char *name, *kernel;
	bool same;

	if (node->kind != GPUMON_NODE_FUNCTION || work->kind != GPUMON_NODE_KERNEL)
		return false;
	name = short_name(node->name);
	kernel = short_name(work->name);
	same = !strcmp(name, kernel);
	free(name);
	free(kernel);
	return same;
}
