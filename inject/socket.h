/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The conversation with the recorder: channel.h has the messages. Nothing here
 * waits longer than it is told to.
 */
#ifndef GPUMON_INJECT_SOCKET_H
#define GPUMON_INJECT_SOCKET_H

#include "inject.h"

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

#endif /* GPUMON_INJECT_SOCKET_H */
