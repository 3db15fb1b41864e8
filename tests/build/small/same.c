// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Uses json-c and libnl as gpumon-user does. Built with these and with user/small/ in their place, it has to
 * print the same.
 *
 * same json FILE    values that are made, then each line of FILE read and, without "?" before it, printed
 * same netlink      families of generic netlink
 * same config FILE  the lines of a file that may be compressed
 */
#include <float.h>
#include <json.h>
#include <linux/genetlink.h>
#include <math.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void print(struct json_object *value)
{
	static const int flags[] = { JSON_C_TO_STRING_PLAIN,
				     JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE,
				     JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
					     JSON_C_TO_STRING_NOSLASHESCAPE };

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		puts(json_object_to_json_string_ext(value, flags[i]));
}

static struct json_object *made(void)
{
	static const double numbers[] = { 0,	   -0.0,    1,	       0.1,	 1.5,
					  -2.25,   1e15,    1e16,      1e17,	 1e300,
					  1e-5,	   1e-4,    123456789, 1.0 / 3,	 100,
					  DBL_MAX, DBL_MIN, 12345.6,   99.99999, 1e21 };
	struct json_object *object = json_object_new_object(), *array = json_object_new_array();
	char text[300];

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		json_object_array_add(array, json_object_new_double(numbers[i]));
	json_object_object_add(object, "doubles", array);
	array = json_object_new_array();
	json_object_array_add(array, json_object_new_int64(INT64_MIN));
	json_object_array_add(array, json_object_new_int64(INT64_MAX));
	json_object_array_add(array, json_object_new_uint64(UINT64_MAX));
	json_object_array_add(array, json_object_new_int64(0));
	json_object_array_add(array, json_object_new_boolean(1));
	json_object_array_add(array, json_object_new_boolean(0));
	json_object_array_add(array, NULL);
	json_object_array_add(array, json_object_new_array());
	json_object_array_add(array, json_object_new_object());
	json_object_object_add(object, "others", array);
	for (int i = 1; i < 256; i++)
		text[i - 1] = (char)i;
	text[255] = '\0';
	json_object_object_add(object, "all bytes", json_object_new_string(text));
	json_object_object_add(object, "\"key\"/\n", json_object_new_string(""));
	json_object_object_add(object, "others", json_object_new_string("in place of the array"));
	json_object_object_add(object, "none", NULL);
	return object;
}

/* What the tool asks of what it has read. */
static void ask(struct json_object *value)
{
	struct json_object *member;

	for (int type = json_type_null; type <= json_type_string; type++)
		printf("%d", json_object_is_type(value, (enum json_type)type));
	if (json_object_is_type(value, json_type_int))
		printf(" %llu", (unsigned long long)json_object_get_uint64(value));
	if (json_object_is_type(value, json_type_string))
		printf(" %zu", strlen(json_object_get_string(value)));
	if (json_object_is_type(value, json_type_array))
		printf(" %zu %d", json_object_array_length(value),
		       json_object_array_get_idx(value, 0) != NULL);
	if (json_object_object_get_ex(value, "a", &member))
		printf(" a: %s", json_object_to_json_string_ext(member, 0));
	putchar('\n');
}

static int same_json(const char *path)
{
	struct json_object *value = made();
	FILE *stream = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;

	print(value);
	json_object_put(value);
	if (!stream)
		return 1;
	while (getline(&line, &room, stream) > 0) {
		line[strcspn(line, "\n")] = '\0';
		value = json_tokener_parse(line + (*line == '?'));
		ask(value);
		if (*line != '?')
			print(value);
		json_object_put(value);
	}
	free(line);
	fclose(stream);
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

#define NAMES 256

/* With libnl a socket whose answers were read by nl_recv() looks up nothing more. */
static int list_families(struct nl_sock *sock, struct nl_sock *other)
{
	static char names[NAMES][GENL_NAMSIZ];
	struct nl_msg *request = nlmsg_alloc();
	int n = 0;

	genlmsg_put(request, NL_AUTO_PORT, NL_AUTO_SEQ, GENL_ID_CTRL, 0, NLM_F_DUMP,
		    CTRL_CMD_GETFAMILY, 2);
	if (nl_send_auto(sock, request) < 0)
		return 1;
	nlmsg_free(request);
	for (;;) {
		struct sockaddr_nl from = { 0 };
		unsigned char *buffer = NULL;
		int left = nl_recv(sock, &from, &buffer, NULL);

		if (left <= 0 || from.nl_pid)
			return 1;
		for (struct nlmsghdr *at = (void *)buffer; NLMSG_OK(at, left);
		     at = NLMSG_NEXT(at, left)) {
			const struct nlattr *name;

			if (at->nlmsg_type == NLMSG_DONE) {
				qsort(names, (size_t)n, GENL_NAMSIZ, compare);
				for (int i = 0; i < n; i++)
					printf("%s %d\n", names[i],
					       genl_ctrl_resolve(other, names[i]));
				free(buffer);
				return 0;
			}
			name = nla_find((void *)((char *)NLMSG_DATA(at) + GENL_HDRLEN),
					(int)(at->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN),
					CTRL_ATTR_FAMILY_NAME);
			if (name && n < NAMES)
				snprintf(names[n++], GENL_NAMSIZ, "%.*s", nla_len(name),
					 (const char *)name + NLA_HDRLEN);
		}
		free(buffer);
	}
}

/* As it was sent, but for its number and its port. */
static void print_message(struct nl_msg *msg)
{
	const struct nlmsghdr *header = nlmsg_hdr(msg);
	const unsigned char *bytes = (const void *)header;

	printf("type %d, flags %#x:", header->nlmsg_type, header->nlmsg_flags);
	for (size_t i = NLMSG_HDRLEN; i < header->nlmsg_len; i++)
		printf(" %02x", bytes[i]);
	putchar('\n');
}

/* Of a family that is not there: the kernel's answer is an error. */
static int send_all_kinds(struct nl_sock *sock)
{
	struct nl_msg *request = nlmsg_alloc();
	struct sockaddr_nl from = { 0 };
	unsigned char *buffer = NULL;
	char too_long[8192];
	int ret;

	memset(too_long, 'x', sizeof(too_long));
	too_long[sizeof(too_long) - 1] = '\0';
	genlmsg_put(request, NL_AUTO_PORT, NL_AUTO_SEQ, 0x3ff, 0, NLM_F_DUMP, 7, 3);
	if (nla_put_u32(request, 1, 0x12345678) || nla_put_string(request, 2, "") ||
	    nla_put_string(request, 3, "four") || nla_put_u32(request, 4, 0) ||
	    !nla_put_string(request, 5, too_long))
		return 1;
	if (nl_send_auto(sock, request) < 0)
		return 1;
	print_message(request);
	nlmsg_free(request);
	ret = nl_recv(sock, &from, &buffer, NULL);
	if (ret > 0)
		printf("%d\n", ((const struct nlmsgerr *)NLMSG_DATA(buffer))->error);
	free(buffer);
	return ret <= 0;
}

/* However little room a text leaves, the next attribute stays within the message: the sanitizer looks. */
static void fill_messages(void)
{
	char text[1100];

	for (size_t len = 900; len < sizeof(text); len++) {
		struct nl_msg *request = nlmsg_alloc();

		memset(text, 'x', len);
		text[len] = '\0';
		genlmsg_put(request, NL_AUTO_PORT, NL_AUTO_SEQ, 0x3ff, 0, 0, 7, 3);
		if (!nla_put_string(request, 1, text))
			(void)nla_put_u32(request, 2, 0);
		nlmsg_free(request);
	}
}

static int same_netlink(void)
{
	struct nl_sock *sock = nl_socket_alloc(), *other = nl_socket_alloc();
	int group, ret;

	fill_messages();
	if (genl_connect(sock) || genl_connect(other))
		return 1;
	printf("%d\n", genl_ctrl_resolve(sock, "nlctrl"));
	printf("%d\n", genl_ctrl_resolve(sock, "no-such-family") == -NLE_OBJ_NOTFOUND);
	printf("%d\n", genl_ctrl_resolve_grp(sock, "nlctrl", "no-group") == -NLE_OBJ_NOTFOUND);
	printf("%d\n", genl_ctrl_resolve_grp(sock, "nlctr", "notify") == -NLE_OBJ_NOTFOUND);
	group = genl_ctrl_resolve_grp(sock, "nlctrl", "notify");
	printf("%d %d\n", group, nl_socket_add_membership(sock, group));
	ret = list_families(sock, other) || send_all_kinds(sock);
	nl_socket_free(sock);
	nl_socket_free(other);
	return ret;
}

static int same_config(const char *path)
{
	gzFile file = gzopen(path, "re");
	char line[32];

	if (!file)
		puts("cannot be read");
	while (file && gzgets(file, line, sizeof(line)))
		printf("<%s>", line);
	if (file)
		gzclose(file);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "json"))
		return same_json(argv[2]);
	if (argc == 2 && !strcmp(argv[1], "netlink"))
		return same_netlink();
	if (argc == 3 && !strcmp(argv[1], "config"))
		return same_config(argv[2]);
	return 2;
}
