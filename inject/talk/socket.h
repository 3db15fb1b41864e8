/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The conversation with the recorder: channel.h has the messages. Nothing here
 * waits longer than it is told to.
 */
#ifndef GPUMON_INJECT_SOCKET_H
#define GPUMON_INJECT_SOCKET_H

#include "../user/capture/channel_writer.h"
#include "base/inject.h"

/**
 * struct inject_socket - a descriptor in somebody else's process
 * @fd: -1 for none
 * @inode: of the socket: a program that closes all that it does not know, and opens something
 *         else, gets our number for it
 * @device: of it
 */
struct inject_socket {
	int fd;
	uint64_t inode;
	uint64_t device;
};

/**
 * inject_socket_take - remember a descriptor, away from the numbers that the program gets
 * @socket: filled in
 * @fd: closed where another number is taken; -1 is none
 */
void inject_socket_take(struct inject_socket *socket, int fd);

/* Is it still what it was? If not, it is not ours to read from, or to close. */
bool inject_socket_is_ours(const struct inject_socket *socket);

/* Closes it, if it is ours. */
void inject_socket_close(struct inject_socket *socket);

/**
 * inject_socket_connect - to the recorder that started the program
 * @path: of its socket; one that begins with '@' is in the abstract name space
 * @wait_ms: at most
 *
 * Return: a descriptor, or -1.
 */
int inject_socket_connect(const char *path, unsigned int wait_ms);

/**
 * inject_socket_listen - for a recorder that comes later
 *
 * At the abstract address GPUMON_LISTEN_NAME, or, where GPUMON_LISTEN names a folder, at a file
 * of that name with ".sock" in it, for this user alone.
 *
 * Return: a descriptor, or -1.
 */
int inject_socket_listen(void);

/* Takes the file away that inject_socket_listen() made, if it did. */
void inject_socket_unlisten(void);

/**
 * inject_socket_accept - one that is allowed to: root, or the user whose program this is
 * @listener: of inject_socket_listen()
 *
 * Return: a descriptor, or -1.
 */
int inject_socket_accept(int listener);

/**
 * inject_socket_handshake - say who we are, get settings and the channel
 * @socket: connected
 * @wait_ms: at most
 * @settings: filled in, within bounds
 * @map: the channel
 *
 * Return: false where the recorder refuses, or what it sent cannot be right.
 */
bool inject_socket_handshake(int socket, unsigned int wait_ms,
			     struct gpumon_message_settings *settings,
			     struct gpumon_channel_map *map);

/**
 * enum inject_refusal - why nothing is recorded
 * @INJECT_ACCEPTED: it is
 * @INJECT_NO_MEMORY: for the channel, or for the session's tables and buffers
 * @INJECT_BAD_CHANNEL: what came is not the memory of a channel
 * @INJECT_OTHER_VERSION: of the messages
 * @INJECT_UNKNOWN_MESSAGE: not one of these versions'
 */
enum inject_refusal {
	INJECT_ACCEPTED,
	INJECT_NO_MEMORY,
	INJECT_BAD_CHANNEL,
	INJECT_OTHER_VERSION,
	INJECT_UNKNOWN_MESSAGE,
};

/* Tell the recorder why nothing is recorded. */
void inject_socket_refuse(int socket, enum inject_refusal why);

#endif /* GPUMON_INJECT_SOCKET_H */
