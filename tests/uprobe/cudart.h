/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#ifndef UPROBE_CUDART_H
#define UPROBE_CUDART_H

#if CUDART_VERSION < 12000
#define __cudaLaunchKernel cudaLaunchKernel
#endif

cudaError_t __cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
			       size_t shared, cudaStream_t stream);

#endif /* UPROBE_CUDART_H */
