/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the mock of nvidia.ko and the programs that use it share. */
#ifndef MOCK_NVIDIA_H
#define MOCK_NVIDIA_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* As NVIDIA's: /dev/nvidiactl is the last minor, /dev/nvidiaN is minor N. */
#define MOCK_NVIDIA_CTL_MINOR 255

/**
 * struct mock_nvidia_args - what every command of the mock takes
 * @duration_ns: how long it lasts
 * @error: positive errno that it fails with, 0 for none
 * @served: set to the number of commands that the file has served with this one
 */
struct mock_nvidia_args {
	__u64 duration_ns;
	__u32 error;
	__u32 served;
};

/* Any number is taken; one whose argument has another size fails with EINVAL. */
#define MOCK_NVIDIA_IOCTL(nr) _IOWR('F', nr, struct mock_nvidia_args)

/* A mapping at this offset or behind it fails with EINVAL. */
#define MOCK_NVIDIA_MMAP_END (1ULL << 30)

#endif /* MOCK_NVIDIA_H */
