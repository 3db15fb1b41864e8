/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
#ifndef GPUMON_NVIDIA_COMMANDS_H
#define GPUMON_NVIDIA_COMMANDS_H

/*
 * The commands of /dev/nvidiactl and /dev/nvidiaN by number, with NVIDIA's names less NV_ESC_:
 * nv_escape.h and nv-ioctl-numbers.h of its open kernel modules, 515 to 590.
 */
/* clang-format off */
#define GPUMON_NVIDIA_COMMANDS(X) \
	X(0x27, "RM_ALLOC_MEMORY") \
	X(0x28, "RM_ALLOC_OBJECT") \
	X(0x29, "RM_FREE") \
	X(0x2a, "RM_CONTROL") \
	X(0x2b, "RM_ALLOC") \
	X(0x32, "RM_CONFIG_GET") \
	X(0x33, "RM_CONFIG_SET") \
	X(0x34, "RM_DUP_OBJECT") \
	X(0x35, "RM_SHARE") \
	X(0x37, "RM_CONFIG_GET_EX") \
	X(0x38, "RM_CONFIG_SET_EX") \
	X(0x39, "RM_I2C_ACCESS") \
	X(0x41, "RM_IDLE_CHANNELS") \
	X(0x4a, "RM_VID_HEAP_CONTROL") \
	X(0x4d, "RM_ACCESS_REGISTRY") \
	X(0x4e, "RM_MAP_MEMORY") \
	X(0x4f, "RM_UNMAP_MEMORY") \
	X(0x52, "RM_GET_EVENT_DATA") \
	X(0x54, "RM_ALLOC_CONTEXT_DMA2") \
	X(0x56, "RM_ADD_VBLANK_CALLBACK") \
	X(0x57, "RM_MAP_MEMORY_DMA") \
	X(0x58, "RM_UNMAP_MEMORY_DMA") \
	X(0x59, "RM_BIND_CONTEXT_DMA") \
	X(0x5c, "RM_EXPORT_OBJECT_TO_FD") \
	X(0x5d, "RM_IMPORT_OBJECT_FROM_FD") \
	X(0x5e, "RM_UPDATE_DEVICE_MAPPING_INFO") \
	X(0x5f, "RM_LOCKLESS_DIAGNOSTIC") \
	X(200, "CARD_INFO") \
	X(201, "REGISTER_FD") \
	X(206, "ALLOC_OS_EVENT") \
	X(207, "FREE_OS_EVENT") \
	X(209, "STATUS_CODE") \
	X(210, "CHECK_VERSION_STR") \
	X(211, "IOCTL_XFER_CMD") \
	X(212, "ATTACH_GPUS_TO_FD") \
	X(213, "QUERY_DEVICE_INTR") \
	X(214, "SYS_PARAMS") \
	X(215, "NUMA_INFO") \
	X(216, "SET_NUMA_STATUS") \
	X(217, "EXPORT_TO_DMABUF_FD") \
	X(218, "WAIT_OPEN_COMPLETE")
/* clang-format on */

/* Number and size are what makes a command; its type and direction are not looked at. */
#define GPUMON_NVIDIA_COMMAND(number, size) ((size) << 16 | (number))

/**
 * gpumon_nvidia_status_at - where the resource manager's status is in the argument of a command
 * @command: as the ioctl has it, any value
 *
 * From nvos.h and nv-ioctl.h of 535 to 595. Where a structure has grown, its size says which one it is.
 *
 * Return: bytes from its beginning; -1 if there is none, or it is not known.
 */
static inline int gpumon_nvidia_status_at(unsigned int command)
{
	switch (command & GPUMON_NVIDIA_COMMAND(0xff, 0x3fff)) {
	case GPUMON_NVIDIA_COMMAND(0x29, 16):
	case GPUMON_NVIDIA_COMMAND(0x59, 16):
	case GPUMON_NVIDIA_COMMAND(206, 16):
	case GPUMON_NVIDIA_COMMAND(207, 16):
		return 12;
	case GPUMON_NVIDIA_COMMAND(0x28, 20):
		return 16;
	case GPUMON_NVIDIA_COMMAND(0x35, 24):
	case GPUMON_NVIDIA_COMMAND(0x4a, 184):
		return 20;
	case GPUMON_NVIDIA_COMMAND(0x34, 28):
	case GPUMON_NVIDIA_COMMAND(0x39, 32):
	case GPUMON_NVIDIA_COMMAND(0x4f, 32):
		return 24;
	case GPUMON_NVIDIA_COMMAND(0x2a, 32):
	case GPUMON_NVIDIA_COMMAND(0x2b, 32):
		return 28;
	case GPUMON_NVIDIA_COMMAND(0x58, 40):
	case GPUMON_NVIDIA_COMMAND(0x5e, 40):
		return 32;
	case GPUMON_NVIDIA_COMMAND(0x27, 56):
	case GPUMON_NVIDIA_COMMAND(0x2b, 48):
	case GPUMON_NVIDIA_COMMAND(0x4e, 56):
	case GPUMON_NVIDIA_COMMAND(0x58, 48):
		return 40;
	case GPUMON_NVIDIA_COMMAND(0x41, 56):
	case GPUMON_NVIDIA_COMMAND(0x54, 56):
	case GPUMON_NVIDIA_COMMAND(0x57, 56):
		return 48;
	case GPUMON_NVIDIA_COMMAND(0x57, 64):
		return 56;
	case GPUMON_NVIDIA_COMMAND(0x4d, 72):
		return 64;
	case GPUMON_NVIDIA_COMMAND(217, 2600):
		return 2592;
	case GPUMON_NVIDIA_COMMAND(217, 2608):
		return 2600;
	}
	return -1;
}

#endif /* GPUMON_NVIDIA_COMMANDS_H */
