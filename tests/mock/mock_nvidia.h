/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Shared by the mock of nvidia.ko and its programs. */
#ifndef MOCK_NVIDIA_H
#define MOCK_NVIDIA_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* As in the driver: /dev/nvidiactl has the last minor number, /dev/nvidiaN has minor number N. */
#define MOCK_NVIDIA_CTL_MINOR 255

/**
 * struct mock_nvidia_args - argument of every command of the mock
 * @duration_ns: duration of the command
 * @error: positive errno of a failure, or 0
 * @served: out: number of commands served by the file, including this one
 */
struct mock_nvidia_args {
	__u64 duration_ns;
	__u32 error;
	__u32 served;
};

/* Any number is accepted. An argument of another size fails with EINVAL. */
#define MOCK_NVIDIA_IOCTL(nr) _IOWR('F', nr, struct mock_nvidia_args)

/* A mapping at or beyond this offset fails with EINVAL. */
#define MOCK_NVIDIA_MMAP_END (1ULL << 30)

#endif /* MOCK_NVIDIA_H */
