/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
#ifndef GPUMON_XID_H
#define GPUMON_XID_H

/*
 * The well-known codes in short words of our own. What each means, and what to
 * do about it, is in "XID Errors", NVIDIA GPU Deployment and Management
 * Documentation, https://docs.nvidia.com/deploy/xid-errors/
 */
/* clang-format off */
#define GPUMON_XIDS(X) \
	X(8, "GPU stopped processing") \
	X(13, "graphics engine exception") \
	X(31, "GPU memory page fault") \
	X(32, "corrupted push buffer") \
	X(38, "driver firmware error") \
	X(43, "channel reset by its own fault") \
	X(45, "channels removed preemptively") \
	X(46, "GPU stopped processing") \
	X(48, "double-bit ECC error") \
	X(56, "display engine error") \
	X(57, "memory interface error") \
	X(58, "unstable memory interface") \
	X(61, "microcontroller breakpoint") \
	X(62, "microcontroller halt") \
	X(63, "row remap or page retirement") \
	X(64, "row remap or retirement failed") \
	X(68, "video processor exception") \
	X(69, "graphics engine class error") \
	X(74, "NVLink error") \
	X(78, "vGPU start error") \
	X(79, "GPU fell off the bus") \
	X(92, "high single-bit ECC error rate") \
	X(94, "contained ECC error") \
	X(95, "uncontained ECC error") \
	X(109, "context switch timeout") \
	X(119, "GSP RPC timeout") \
	X(120, "GSP error") \
	X(121, "C2C link error") \
	X(137, "NVLink access violation") \
	X(140, "unrecovered ECC error") \
	X(143, "GPU initialization failed") \
	X(154, "recovery action changed")
/* clang-format on */

#endif /* GPUMON_XID_H */
