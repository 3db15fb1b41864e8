// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"
#include "top.h"
#include "top_page.h"

#define COLUMNS_DEFAULT	 132
#define COLUMNS_MAX	 512
#define PROCESS_ROWS_MIN 4

/* A character that the terminal cannot show is as many question marks as it has columns. */
static void put_character(const struct gpumon_page *page, uint32_t code, unsigned int columns)
{
	char bytes[4];

	if (code < 0x80 || page->view->utf8)
		fwrite(bytes, 1, gpumon_text_encode(bytes, code), page->out);
	else
		fprintf(page->out, "%.*s", (int)columns, "??");
}

void gpumon_page_put(struct gpumon_page *page, const char *text)
{
	uint32_t code;

	while ((code = gpumon_text_next(&text))) {
		unsigned int columns = gpumon_text_character_columns(code);

		if (page->at + columns > page->columns)
			break;
		put_character(page, code, columns);
		page->at += columns;
	}
}

void gpumon_page_colour(struct gpumon_page *page, const char *colour, const char *text)
{
	fputs(colour, page->out);
	gpumon_page_put(page, text);
	if (*colour)
		fputs(gpumon_term_reset(&page->view->term), page->out);
}

void gpumon_page_blanks(struct gpumon_page *page, unsigned int n)
{
	while (n-- && page->at < page->columns) {
		fputc(' ', page->out);
		page->at++;
	}
}

void gpumon_page_right(struct gpumon_page *page, unsigned int width, const char *colour,
		       const char *text)
{
	unsigned int used = gpumon_text_columns(text);

	gpumon_page_blanks(page, used < width ? width - used : 0);
	gpumon_page_colour(page, colour, text);
}

void gpumon_page_left(struct gpumon_page *page, unsigned int width, const char *colour,
		      const char *text)
{
	unsigned int used = gpumon_text_columns(text);

	gpumon_page_colour(page, colour, text);
	gpumon_page_blanks(page, used < width ? width - used : 0);
}

void gpumon_page_end_line(struct gpumon_page *page)
{
	/* Behind a full line the cursor may still be on its last character. */
	if (page->view->clear && page->at < page->columns)
		fputs("\033[K", page->out);
	page->lines++;
	page->at = 0;
	/* A newline on the last line would scroll. */
	if (!page->view->term.rows || page->lines < page->view->term.rows)
		fputc('\n', page->out);
}

bool gpumon_page_room(const struct gpumon_page *page, unsigned int lines)
{
	return !page->view->term.rows || page->lines + lines <= page->view->term.rows;
}

void gpumon_page_more(struct gpumon_page *page, size_t n, const char *what)
{
	char text[64];

	snprintf(text, sizeof(text), "and %zu more %s", n, what);
	gpumon_page_colour(page, gpumon_term_dim(&page->view->term), text);
	gpumon_page_end_line(page);
}

static const struct {
	char key;
	const char *name;
} sorts[GPUMON_TOP_SORTS] = {
	[GPUMON_TOP_BUSY] = { 'b', "busy" },	   [GPUMON_TOP_LOAD] = { 'l', "load" },
	[GPUMON_TOP_JOBS] = { 'j', "jobs" },	   [GPUMON_TOP_QUEUED] = { 'd', "depth" },
	[GPUMON_TOP_QUEUE_TIME] = { 'w', "wait" }, [GPUMON_TOP_RUN_TIME] = { 'r', "run" },
	[GPUMON_TOP_ERRORS] = { 'e', "err" },	   [GPUMON_TOP_NAME] = { 'n', "name" },
};

enum gpumon_top_sort gpumon_top_key(int key)
{
	enum gpumon_top_sort sort;

	for (sort = 0; sort < GPUMON_TOP_SORTS; sort++) {
		if (sorts[sort].key == key)
			break;
	}
	return sort;
}

/* By which rule jobs wait. The clock at the end of the line is more useful. */
static void draw_policy(struct gpumon_page *page)
{
	const struct gpumon_value policy = page->top->last.sched_policy;
	const char *clock = page->view->clock ? page->view->clock : "";
	char number[GPUMON_FORMAT_LEN], text[48];
	const char *name = gpumon_sched_policy_name(policy);

	if (!policy.known)
		return;
	snprintf(text, sizeof(text), "  policy %s",
		 name ? name : gpumon_format_count(number, sizeof(number), policy));
	if (page->at + gpumon_text_columns(text) + 2 + gpumon_text_columns(clock) <= page->columns)
		gpumon_page_colour(page, gpumon_page_dim(page), text);
}

static void draw_title(struct gpumon_page *page)
{
	const struct gpumon_top *top = page->top;
	struct gpumon_value done = { .known = top->readings > 0 };
	char rate[GPUMON_FORMAT_LEN];
	char interval[GPUMON_FORMAT_LEN];
	char text[256];
	unsigned int clock;

	for (size_t i = 0; i < top->n_rings; i++)
		done.v += top->rings[i].done.v;
	gpumon_format_rate(rate, sizeof(rate), done, top->diff.interval_ns);
	gpumon_format_ns(interval, sizeof(interval), gpumon_value_of(top->diff.interval_ns));

	gpumon_page_colour(page, gpumon_page_bold(page), "gpumon top");
	snprintf(text, sizeof(text), "  %zu ring%s  %zu process%s  %s jobs/s", top->n_rings,
		 top->n_rings == 1 ? "" : "s", top->n_processes, top->n_processes == 1 ? "" : "es",
		 rate);
	gpumon_page_put(page, text);
	if (top->readings == 1)
		snprintf(text, sizeof(text), "  mean of the last %s", interval);
	else if (top->diff.reset_between)
		snprintf(text, sizeof(text), "  in %s, since the counters were reset", interval);
	else
		snprintf(text, sizeof(text), "  in %s", interval);
	gpumon_page_colour(page,
			   top->readings == 1 || top->diff.reset_between ?
				   gpumon_term_yellow(&page->view->term) :
				   gpumon_page_dim(page),
			   text);
	if (page->view->paused)
		gpumon_page_colour(page, gpumon_term_yellow(&page->view->term), "  PAUSED");
	draw_policy(page);
	clock = page->view->clock ? gpumon_text_columns(page->view->clock) : 0;
	if (clock && page->at + clock + 2 <= page->columns) {
		gpumon_page_blanks(page, page->columns - page->at - clock);
		gpumon_page_colour(page, gpumon_page_dim(page), page->view->clock);
	}
	gpumon_page_end_line(page);
}

static void draw_group(struct gpumon_page *page, const struct gpumon_group *group)
{
	char text[512];

	gpumon_page_colour(page, gpumon_page_bold(page), group->name ? group->name : "-");
	snprintf(text, sizeof(text), " is %s", gpumon_attach_state_name(group->state));
	gpumon_page_colour(page, gpumon_term_yellow(&page->view->term), text);
	if (group->reason && *group->reason) {
		gpumon_page_put(page, ": ");
		gpumon_page_put(page, gpumon_format_name(text, sizeof(text), group->reason));
	}
	gpumon_page_end_line(page);
}

/* Drivers that this machine lacks are only named, all on one line. */
static void draw_idle(struct gpumon_page *page)
{
	const struct gpumon_model *last = &page->top->last;
	bool first = true;

	for (size_t i = 0; i < last->n_groups; i++) {
		const struct gpumon_group *group = &last->groups[i];
		char text[96], name[64];

		if (!gpumon_group_is_idle(group))
			continue;
		snprintf(text, sizeof(text), "%s%s %s", first ? "" : ", ",
			 gpumon_format_name(name, sizeof(name), group->name),
			 gpumon_attach_state_name(group->state));
		gpumon_page_colour(page, gpumon_page_dim(page), text);
		first = false;
	}
	gpumon_page_end_line(page);
}

/* Probes that are not attached, of this group or of all. */
static void draw_groups(struct gpumon_page *page, const char *name, unsigned int reserved)
{
	const struct gpumon_model *last = &page->top->last;
	size_t idle = 0;

	for (size_t i = 0; i < last->n_groups; i++)
		idle += gpumon_group_is_idle(&last->groups[i]);
	for (size_t i = 0; i < last->n_groups; i++) {
		const struct gpumon_group *group = &last->groups[i];

		if ((name && (!group->name || strcmp(group->name, name))) ||
		    (!name && idle > 1 && gpumon_group_is_idle(group)) ||
		    (group->state.known && group->state.v == GPUMON_ATTACH_STATE_ATTACHED))
			continue;
		if (gpumon_page_room(page, 1 + reserved))
			draw_group(page, group);
	}
	if (!name && idle > 1 && gpumon_page_room(page, 1 + reserved))
		draw_idle(page);
}

static void draw_loss(struct gpumon_page *page, bool *any, const char *cause, uint64_t total,
		      uint64_t now)
{
	const struct gpumon_term *term = &page->view->term;
	char count[GPUMON_FORMAT_LEN];
	char text[128];

	if (!total)
		return;
	gpumon_page_colour(page, *any ? "" : gpumon_term_yellow(term), *any ? ", " : "Lost: ");
	*any = true;
	gpumon_format_short(count, sizeof(count), gpumon_value_of(total));
	snprintf(text, sizeof(text), "%s %s", count, cause);
	gpumon_page_put(page, text);
	if (!now || page->top->readings < 2)
		return;
	gpumon_format_short(count, sizeof(count), gpumon_value_of(now));
	snprintf(text, sizeof(text), " (+%s)", count);
	gpumon_page_colour(page, gpumon_term_red(term), text);
}

static void draw_losses(struct gpumon_page *page)
{
	const struct gpumon_top *top = page->top;
	const struct gpumon_event_ring *events = &top->last.event_ring;
	bool any = false;

	draw_loss(page, &any, "table full", top->lost.table_full.v, top->lost_now.table_full.v);
	draw_loss(page, &any, "recursion", top->lost.recursion.v, top->lost_now.recursion.v);
	draw_loss(page, &any, "unreadable", top->lost.unreadable.v, top->lost_now.unreadable.v);
	draw_loss(page, &any, "missed by kprobes", top->lost.missed.v, top->lost_now.missed.v);
	draw_loss(page, &any, "no memory for a CPU", top->lost.no_memory.v,
		  top->lost_now.no_memory.v);
	draw_loss(page, &any, "rings recycled", top->last.info.rings_retired.v,
		  top->diff.info.rings_retired.v);
	if (events->enabled.v) {
		draw_loss(page, &any, "trace events overwritten", events->overwritten.v, 0);
		draw_loss(page, &any, "trace events dropped", events->dropped.v, 0);
	}
	if (!any)
		gpumon_page_colour(page, gpumon_page_dim(page), "Nothing lost");
	if (top->last.inconsistent)
		gpumon_page_colour(page, gpumon_term_yellow(&page->view->term),
				   "  The tables kept changing while they were read");
	gpumon_page_end_line(page);
}

/* The pages and their keys. Only the shown page if not all fit. */
static void draw_pages(struct gpumon_page *page, const char *shown)
{
	const char *green = gpumon_term_green(&page->view->term);
	const char *names[GPUMON_TOP_PAGES];
	size_t n = gpumon_top_pages(page->top, names), chosen = 0;
	unsigned int width = 0;
	char text[96], name[64];

	for (size_t i = 0; i < n; i++) {
		/* " [1 name]" or "  1 name " */
		width += gpumon_text_columns(gpumon_format_name(name, sizeof(name), names[i])) + 5;
		if (!strcmp(names[i], shown))
			chosen = i;
	}
	gpumon_page_colour(page, gpumon_page_bold(page), "tab");
	gpumon_page_put(page, " page");
	if (page->at + width > page->columns) {
		snprintf(text, sizeof(text), " [%s]",
			 gpumon_format_name(name, sizeof(name), shown));
		gpumon_page_colour(page, green, text);
		snprintf(text, sizeof(text), " %zu of %zu", chosen + 1, n);
		gpumon_page_colour(page, gpumon_page_dim(page), text);
		n = 0;
	}
	for (size_t i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "%zu ", i + 1);
		gpumon_page_put(page, i == chosen ? " [" : "  ");
		gpumon_page_colour(page, gpumon_page_bold(page), i < 9 ? text : "");
		gpumon_page_colour(page, i == chosen ? green : gpumon_page_dim(page),
				   gpumon_format_name(name, sizeof(name), names[i]));
		gpumon_page_put(page, i == chosen ? "]" : "");
	}
	gpumon_page_end_line(page);
}

/* The line of keys at the bottom of the screen. */
static void draw_keys(struct gpumon_page *page, bool sort)
{
	const struct gpumon_top_view *view = page->view;
	char interval[GPUMON_FORMAT_LEN];
	char text[96];

	gpumon_page_colour(page, gpumon_page_bold(page), "q");
	gpumon_page_put(page, " quit  ");
	gpumon_page_colour(page, gpumon_page_bold(page), "p");
	gpumon_page_put(page, view->paused ? " go on  " : " pause  ");
	/* On a narrow terminal, the sort keys are the most important ones. */
	if (page->columns >= 118) {
		gpumon_page_colour(page, gpumon_page_bold(page), "+ -");
		gpumon_format_ns(interval, sizeof(interval), gpumon_value_of(view->interval_ns));
		snprintf(text, sizeof(text), " every %s  ", interval);
		gpumon_page_put(page, text);
	}
	if (page->columns >= 100) {
		gpumon_page_colour(page, gpumon_page_bold(page), "c");
		gpumon_page_put(page, view->by_cgroup ? " processes  " : " cgroups  ");
	}
	gpumon_page_put(page, sort ? "sort" : "");
	for (size_t i = 0; sort && i < GPUMON_TOP_SORTS; i++) {
		char key[2] = { sorts[i].key, '\0' };
		bool chosen = i == view->sort;

		gpumon_page_put(page, chosen ? " [" : "  ");
		gpumon_page_colour(page, gpumon_page_bold(page), key);
		gpumon_page_put(page, " ");
		gpumon_page_colour(page,
				   chosen ? gpumon_term_green(&view->term) : gpumon_page_dim(page),
				   sorts[i].name);
		gpumon_page_put(page, chosen ? "]" : "");
	}
	gpumon_page_end_line(page);
}

static void draw_rings_page(struct gpumon_page *page, unsigned int keys)
{
	size_t owners = gpumon_top_owners(page->top, page->view);
	unsigned int below;

	/* Reserve a few lines for processes, however many rings there are. */
	below = (unsigned int)(owners < PROCESS_ROWS_MIN ? owners : PROCESS_ROWS_MIN);
	below = below ? below + 2 + keys : keys;
	if (!gpumon_page_room(page, below + 6))
		below = keys;
	gpumon_top_draw_rings(page, below);
	gpumon_top_draw_owners(page, keys);
}

/* Lines at the bottom: keys, and pages if there are several and room for them. */
static unsigned int footer_lines(const struct gpumon_top *top, const struct gpumon_top_view *view)
{
	const char *names[GPUMON_TOP_PAGES];

	if (!view->live || view->term.rows == 1)
		return 0;
	return gpumon_top_pages(top, names) > 1 && (!view->term.rows || view->term.rows >= 6) ? 2 :
												1;
}

void gpumon_top_draw(const struct gpumon_top *top, const struct gpumon_top_view *view, FILE *out)
{
	struct gpumon_page page = { .top = top, .view = view, .out = out };
	unsigned int keys = footer_lines(top, view);
	const char *shown = gpumon_top_shown(top, view->page);
	bool rings = !strcmp(shown, GPUMON_TOP_RINGS);

	page.columns = view->term.columns ? view->term.columns : COLUMNS_DEFAULT;
	if (page.columns > COLUMNS_MAX)
		page.columns = COLUMNS_MAX;

	draw_title(&page);
	if (gpumon_page_room(&page, 1 + keys))
		draw_losses(&page);
	if (gpumon_page_room(&page, 1 + keys))
		gpumon_top_draw_devices(&page, keys);
	draw_groups(&page, rings || !strcmp(shown, GPUMON_TOP_PROCESSES) ? NULL : shown, keys);
	if (view->note && gpumon_page_room(&page, 1 + keys)) {
		gpumon_page_colour(&page, gpumon_term_red(&view->term), view->note);
		gpumon_page_end_line(&page);
	}
	if (gpumon_page_room(&page, 4 + keys)) {
		gpumon_page_end_line(&page);
		if (rings)
			draw_rings_page(&page, keys);
		else
			gpumon_top_draw_tables(&page, shown, keys);
	}
	while (keys && view->term.rows && page.lines + keys < view->term.rows)
		gpumon_page_end_line(&page);
	if (keys > 1)
		draw_pages(&page, shown);
	if (keys)
		draw_keys(&page, rings);
}
