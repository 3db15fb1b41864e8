// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <ctype.h>
#include <fcntl.h>
#include <json.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array.h"
#include "lib/files.h"
#include "lib/map.h"
#include "lib/memory.h"
#include "lib/wait.h"
#include "metrics_container.h"

/* The kubelet has a link here for each container: POD_NAMESPACE_CONTAINER-ID.log */
#define LOGS "/var/log/containers"

#define ID_DIGITS 64 /* of a container's id */
#define SHORT_ID  12 /* of an id as runtimes show it to users */
/* Of the description of a container, which only root may read. */
#define DESCRIPTION_MAX (1 << 20)
/* How often the folder is looked at for a container that is not known. */
#define LOOK_NS 5000000000ULL
/* Containers that are remembered: those of a node, and of some hours. */
#define KNOWN_MAX 4096

/**
 * struct known - what Kubernetes, or else the runtime, calls a container
 * @text: has the three names
 * @pod: NULL if it is in none
 * @namespace: likewise
 * @container: its name
 */
struct known {
	char *text;
	const char *pod;
	const char *namespace;
	const char *container;
};

struct gpumon_pods {
	const char *root;
	struct gpumon_intern ids; /* the number is that of @known, plus 1 */
	struct known *known;
	size_t n_known;
	struct gpumon_intern tried; /* ids whose descriptions were looked for */
	uint64_t looked_ns;
};

struct gpumon_pods *gpumon_pods_new(const char *root)
{
	struct gpumon_pods *pods = gpumon_calloc(1, sizeof(*pods));

	pods->root = root;
	return pods;
}

static void forget(struct gpumon_pods *pods)
{
	for (size_t i = 0; i < pods->n_known; i++)
		free(pods->known[i].text);
	free(pods->known);
	pods->known = NULL;
	pods->n_known = 0;
	gpumon_intern_clear(&pods->ids);
	gpumon_intern_clear(&pods->tried);
}

void gpumon_pods_free(struct gpumon_pods *pods)
{
	if (!pods)
		return;
	forget(pods);
	free(pods);
}

static bool is_id(const char *text)
{
	for (size_t i = 0; i < ID_DIGITS; i++)
		if (!isxdigit((unsigned char)text[i]))
			return false;
	return true;
}

/* Names of pods, namespaces and containers have no "_". */
static void take_name(struct gpumon_pods *pods, const char *name)
{
	static const char ending[] = ".log";
	size_t length = strlen(name), behind = ID_DIGITS + strlen(ending);
	struct known *known;
	char *text, *namespace, *container;
	bool added;

	if (length <= behind + 1 || strcmp(name + length - strlen(ending), ending) != 0 ||
	    !is_id(name + length - behind) || name[length - behind - 1] != '-')
		return;
	text = gpumon_strndup(name, length - behind - 1);
	namespace = strchr(text, '_');
	container = namespace ? strchr(namespace + 1, '_') : NULL;
	if (container) {
		char *id = gpumon_strndup(name + length - behind, ID_DIGITS);

		(void)gpumon_intern(&pods->ids, id, &added);
		free(id);
		if (added) {
			known = GPUMON_GROW(pods->known, pods->n_known);
			*namespace = *container = '\0';
			*known = (struct known){ text, text, namespace + 1, container + 1 };
			return;
		}
	}
	free(text);
}

static void look(struct gpumon_pods *pods)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *folder;

	if (pods->n_known > KNOWN_MAX)
		forget(pods);
	snprintf(path, sizeof(path), "%s" LOGS, pods->root);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		take_name(pods, entry->d_name);
	if (folder)
		closedir(folder);
}

/* --- the runtimes' own descriptions */

/**
 * struct runtime - where a runtime describes a container
 * @path: with its id
 * @annotations: the object in it that has the names
 * @pod: name of that of the pod, NULL: it has no pods
 * @namespace: likewise
 * @container: name of that of the container
 */
static const struct runtime {
	const char *path;
	const char *annotations;
	const char *pod;
	const char *namespace;
	const char *container;
} runtimes[] = {
	{ "/run/containerd/io.containerd.runtime.v2.task/k8s.io/%s/config.json", "annotations",
	  "io.kubernetes.cri.sandbox-name", "io.kubernetes.cri.sandbox-namespace",
	  "io.kubernetes.cri.container-name" },
	{ "/run/containers/storage/overlay-containers/%s/userdata/config.json", "annotations",
	  "io.kubernetes.pod.name", "io.kubernetes.pod.namespace", "io.kubernetes.container.name" },
	{ "/var/lib/docker/containers/%s/config.v2.json", NULL, NULL, NULL, "Name" },
};

static const char *text_in(struct json_object *object, const char *key)
{
	struct json_object *value;

	if (!key || !json_object_object_get_ex(object, key, &value) ||
	    !json_object_is_type(value, json_type_string))
		return NULL;
	return json_object_get_string(value);
}

static void add_described(struct gpumon_pods *pods, const char *id, const struct runtime *runtime,
			  struct json_object *names)
{
	const char *pod = text_in(names, runtime->pod),
		   *namespace = text_in(names, runtime->namespace);
	const char *container = text_in(names, runtime->container);
	struct known *known;
	size_t length;
	bool added;

	if (!container)
		return;
	/* Docker has "/web". */
	container += *container == '/';
	length = strlen(container) + 1;
	(void)gpumon_intern(&pods->ids, id, &added);
	if (!added)
		return;
	known = GPUMON_GROW(pods->known, pods->n_known);
	known->text = gpumon_asprintf("%s%c%s%c%s", container, 0, pod ? pod : "", 0,
				      namespace ? namespace : "");
	known->container = known->text;
	known->pod = known->text + length;
	known->namespace = known->pod + strlen(known->pod) + 1;
}

/* Once for each container: it is described as long as it runs. */
static void look_for_description(struct gpumon_pods *pods, const char *id)
{
	bool added;

	if (pods->tried.n > KNOWN_MAX)
		gpumon_intern_clear(&pods->tried);
	(void)gpumon_intern(&pods->tried, id, &added);
	for (size_t i = 0; added && i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
		char path[PATH_MAX], *text;
		struct json_object *document, *names;
		int length = snprintf(path, sizeof(path), "%s", pods->root);

		snprintf(path + length, sizeof(path) - (size_t)length, runtimes[i].path, id);
		text = gpumon_read_file(AT_FDCWD, path, DESCRIPTION_MAX);
		if (!text)
			continue;
		document = json_tokener_parse(text);
		names = document;
		if (runtimes[i].annotations &&
		    !json_object_object_get_ex(document, runtimes[i].annotations, &names))
			names = NULL;
		if (json_object_is_type(names, json_type_object))
			add_described(pods, id, &runtimes[i], names);
		json_object_put(document);
		free(text);
	}
}

static const struct known *find_known(struct gpumon_pods *pods, const char *id)
{
	uint32_t number = gpumon_intern_find(&pods->ids, id);
	uint64_t now = gpumon_monotonic_ns();

	if (!number && (!pods->looked_ns || now - pods->looked_ns >= LOOK_NS)) {
		look(pods);
		pods->looked_ns = now;
		number = gpumon_intern_find(&pods->ids, id);
	}
	if (!number) {
		look_for_description(pods, id);
		number = gpumon_intern_find(&pods->ids, id);
	}
	return number ? &pods->known[number - 1] : NULL;
}

/* The id whose beginning is the container's name. */
static bool whole_id(const char *path, const char *container, char *id)
{
	if (strlen(container) != SHORT_ID)
		return false;
	for (const char *at = path; (at = strstr(at, container)); at++) {
		if (strlen(at) < ID_DIGITS || !is_id(at))
			continue;
		memcpy(id, at, ID_DIGITS);
		id[ID_DIGITS] = '\0';
		return true;
	}
	return false;
}

/*
 * ".../pod1234-56/ID" and ".../kubepods-burstable-pod1234_56.slice/...": the pod's id, in whose name
 * systemd has "_" for "-".
 */
static char *pod_uid(const char *path)
{
	for (const char *at = strstr(path, "kubepods"); at && (at = strstr(at, "pod")); at++) {
		size_t length = strcspn(at + 3, "/.");
		char *uid;

		if ((at[-1] != '-' && at[-1] != '/') || length < 32 || length > 36)
			continue;
		uid = gpumon_strndup(at + 3, length);
		for (char *c = uid; *c; c++)
			if (*c == '_')
				*c = '-';
		if (strspn(uid, "0123456789abcdef-") == length)
			return uid;
		free(uid);
	}
	return NULL;
}

/* "/user.slice/user-1000.slice/session-3.scope": the path as far as it stays the same for a user. */
static char *cut_path(const char *path)
{
	static const char service[] = ".service", slice[] = ".slice", scope[] = ".scope",
			  user[] = "user-";
	const char *at = path;

	while (*at) {
		const char *begin = at + (*at == '/');
		size_t length = strcspn(begin, "/");
		const char *end = begin + length;
		bool is_service = length > strlen(service) &&
				  !memcmp(end - strlen(service), service, strlen(service));
		bool is_user = length > strlen(user) + strlen(slice) &&
			       !memcmp(begin, user, strlen(user)) &&
			       !memcmp(end - strlen(slice), slice, strlen(slice));

		if (is_service || is_user)
			return gpumon_strndup(path, (size_t)(end - path));
		if (length > strlen(scope) && !memcmp(end - strlen(scope), scope, strlen(scope)))
			return gpumon_strndup(path, at > path ? (size_t)(at - path) : 1);
		at = end;
	}
	return gpumon_strdup(path);
}

void gpumon_container_labels(struct gpumon_labels *labels, struct gpumon_pods *pods,
			     const char *container, const char *path)
{
	const struct known *known = NULL;
	char id[ID_DIGITS + 1];
	char *text;

	if (!container) {
		text = path ? cut_path(path) : NULL;
		gpumon_labels_add(labels, "cgroup", text);
		free(text);
		return;
	}
	if (path && whole_id(path, container, id))
		known = find_known(pods, id);
	if (known) {
		gpumon_labels_add(labels, "namespace", known->namespace);
		gpumon_labels_add(labels, "pod", known->pod);
		gpumon_labels_add(labels, "container", known->container);
		gpumon_labels_add(labels, "container_id", container);
	} else {
		gpumon_labels_add(labels, "container", container);
	}
	text = path ? pod_uid(path) : NULL;
	gpumon_labels_add(labels, "pod_uid", text);
	free(text);
}
