/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Messages with a descriptor, on sockets of SOCK_SEQPACKET. */
#ifndef GPUMON_LIB_DESCRIPTOR_H
#define GPUMON_LIB_DESCRIPTOR_H

#include <stddef.h>

/**
 * gpumon_send_descriptor - send one message, without waiting
 * @socket: connected
 * @message: message
 * @size: bytes
 * @descriptor: to send with it, -1 for none
 *
 * Return: 0 or a negative errno.
 */
int gpumon_send_descriptor(int socket, const void *message, size_t size, int descriptor);

#endif /* GPUMON_LIB_DESCRIPTOR_H */
