/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Sockets and messages between the library and a recorder; user/abi/channel.h
 * has the format.
 */
#ifndef GPUMON_INJECT_RECORDER_SOCKET_H
#define GPUMON_INJECT_RECORDER_SOCKET_H

#include "../user/abi/channel.h"
#include "../user/abi/channel_writer.h"
#include "base/inject.h"

/* How long the library may take to say something, when the program wants to go on. */
#define INJECT_CONNECT_MS INJECT_PATIENCE(2000)

/* How long a recorder that lives may take to answer. */
#ifndef INJECT_ANSWER_MS
#define INJECT_ANSWER_MS GPUMON_CHANNEL_ANSWER_MS
#endif

/**
 * struct inject_socket - a descriptor in a process whose descriptors are the program's
 * @fd: -1 for none
 * @inode: of the socket, to notice that the program has closed it and opened something else
 * @device: likewise
 */
struct inject_socket {
	int fd;
	uint64_t inode;
	uint64_t device;
};

/**
 * inject_socket_take - keep a descriptor under a number that the program is unlikely to get
 * @socket: filled in
 * @fd: closed if another number was found; -1 for none
 */
void inject_socket_take(struct inject_socket *socket, int fd);

/* Whether it is still the same socket. Otherwise it belongs to the program. */
bool inject_socket_is_ours(const struct inject_socket *socket);

/* Closes it, unless it belongs to the program now. Without a system call where there is none. */
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

/* Removes the file that inject_socket_listen() may have made, if it is still that one. */
void inject_socket_unlisten(void);

/* Called in a child after fork: the file belongs to the parent. */
void inject_socket_forked(void);

/**
 * inject_socket_accept - accept a recorder of root or of the program's user
 * @listener: of inject_socket_listen()
 *
 * Return: a descriptor, or -1.
 */
int inject_socket_accept(int listener);

/**
 * inject_socket_send - send one message
 * @socket: connected
 * @message: message
 * @size: bytes
 * @descriptor: to send with it, -1 for none
 * @wait_ms: at most, for room
 *
 * Return: false where it is not sent.
 */
bool inject_socket_send(int socket, const void *message, size_t size, int descriptor,
			unsigned int wait_ms);

/**
 * inject_socket_receive - receive one message, without waiting
 * @socket: connected
 * @message: filled in
 * @size: room
 * @descriptor: set to the one that came with it, or -1
 *
 * Return: bytes, or -1 with errno.
 */
ssize_t inject_socket_receive(int socket, void *message, size_t size, int *descriptor);

/**
 * inject_socket_handshake - send a hello, receive the settings and the channel, within INJECT_ANSWER_MS
 * @socket: connected
 * @settings: filled in, within bounds
 * @map: the channel
 *
 * Return: false where the recorder refuses, is gone, or sent something invalid.
 */
bool inject_socket_handshake(int socket, struct gpumon_message_settings *settings,
			     struct gpumon_channel_map *map);

/**
 * enum inject_refusal - why nothing is recorded
 * @INJECT_ACCEPTED: no refusal
 * @INJECT_NO_MEMORY: for the channel, or for the session's tables and buffers
 * @INJECT_BAD_CHANNEL: the descriptor is not that of a channel
 * @INJECT_OTHER_VERSION: of the messages
 * @INJECT_UNKNOWN_MESSAGE: neither settings nor a refusal
 */
enum inject_refusal {
	INJECT_ACCEPTED,
	INJECT_NO_MEMORY,
	INJECT_BAD_CHANNEL,
	INJECT_OTHER_VERSION,
	INJECT_UNKNOWN_MESSAGE,
};

/* Sends the reason to the recorder. */
void inject_socket_refuse(int socket, enum inject_refusal why);

#endif /* GPUMON_INJECT_RECORDER_SOCKET_H */
