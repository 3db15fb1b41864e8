// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
(function () {
	"use strict";
	const shownRows = 15;

	const flames = new Map(), tables = new Map();
	for (const svg of document.querySelectorAll("svg.gpumon-flame"))
		flames.set(svg, gpumonFlame(svg));

	function worth(row, column) {
		const cell = row.cells[column], value = cell.getAttribute("data-v");
		return value === null ? (cell.firstChild ? cell.firstChild.textContent : "").toLowerCase() : Number(value);
	}
	for (const table of document.querySelectorAll("table.sortable")) {
		const body = table.tBodies[0], heads = Array.from(table.tHead.rows[0].cells);
		heads.forEach(function (head, column) {
			head.classList.add("sorts");
			head.tabIndex = 0;
			function sort() {
				const rows = Array.from(body.rows);
				// Sort numbers from the highest, names from the first.
				const numbers = rows.length > 0 && typeof worth(rows[0], column) === "number";
				const before = head.getAttribute("aria-sort");
				const down = before ? before === "ascending" : numbers;
				rows.sort(function (a, b) {
					const x = worth(a, column), y = worth(b, column);
					return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
				});
				heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
				head.setAttribute("aria-sort", down ? "descending" : "ascending");
				rows.forEach(function (row) { body.appendChild(row); });
				fold();
			}
			head.addEventListener("click", sort);
			head.addEventListener("keydown", function (event) {
				if (event.key === "Enter" || event.key === " ") {
					event.preventDefault();
					sort();
				}
			});
		});
		// Only show the beginning of long tables, of the rows that pass the filter.
		let all = false;
		const more = document.createElement("button"), state = { filter: null, folded: null };
		function fold() {
			let n = 0;
			for (const row of body.rows) {
				const passes = !state.filter || state.filter(row);
				row.hidden = !passes || (!all && n >= shownRows);
				n += passes;
			}
			more.hidden = all || n <= shownRows;
			more.textContent = "Show all " + n.toLocaleString("en-US");
			if (state.folded)
				state.folded();
		}
		more.className = "more";
		more.addEventListener("click", function () { all = true; fold(); });
		table.parentNode.after(more);
		state.show = function (filter) {
			state.filter = filter;
			all = false;
			fold();
		};
		tables.set(table, state);
		fold();
	}

	// Rows to be picked by a click, or by keys: Tab leads to one of them, arrows to the others.
	function pickable(table, pick, leave) {
		const body = table.tBodies[0];
		let current = null, stop = null;
		function shown() {
			return Array.from(body.rows).filter(function (row) { return !row.hidden; });
		}
		function stopAt(row) {
			if (stop)
				stop.tabIndex = -1;
			stop = row || null;
			if (stop)
				stop.tabIndex = 0;
		}
		function choose(row) {
			if (row === current)
				return;
			if (current)
				current.setAttribute("aria-selected", "false");
			current = row;
			if (row) {
				row.setAttribute("aria-selected", "true");
				stopAt(row);
			}
			pick(row);
		}
		table.classList.add("pickable");
		table.setAttribute("role", "grid");
		for (const row of body.rows) {
			row.tabIndex = -1;
			row.setAttribute("aria-selected", "false");
		}
		tables.get(table).folded = function () {
			if (!stop || stop.hidden)
				stopAt(shown()[0]);
		};
		stopAt(shown()[0]);
		body.addEventListener("click", function (event) {
			const row = event.target.closest("tr");
			// Not if its text was selected, to be copied.
			if (row && window.getSelection().isCollapsed)
				choose(row === current ? null : row);
		});
		body.addEventListener("keydown", function (event) {
			const row = event.target.closest("tr"), rows = shown(), at = rows.indexOf(row);
			const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
			if (event.ctrlKey || event.altKey || event.metaKey)
				return;
			if (event.key === "Enter" || event.key === " ") {
				choose(row === current ? null : row);
			} else if (event.key === "Escape") {
				if (current)
					choose(null);
				else
					leave();
			} else if (to !== undefined) {
				if (rows[to]) {
					stopAt(rows[to]);
					rows[to].focus();
				}
			} else {
				return;
			}
			event.preventDefault();
		});
		return { choose: choose, shown: shown, focus: function () { if (stop) stop.focus(); } };
	}

	// A table of call paths, and the flame graph in front of it.
	function callPaths(section, leave) {
		const table = section.querySelector("table"), names = section.querySelectorAll(".functions i");
		const flame = flames.get(section.previousElementSibling.querySelector("svg.gpumon-flame"));
		const status = section.querySelector(".picked");
		let list = null, kernel = null;
		function frameOf(row) {
			return Number(row.getAttribute("data-frame"));
		}
		function callers() {
			return Array.from(table.tBodies[0].rows).filter(function (row) { return ofKernel(row, kernel); });
		}
		const paths = pickable(table, function (row) {
			if (list)
				list.remove();
			list = null;
			if (!row) {
				flame.pick(kernel ? callers().map(frameOf) : []);
				return;
			}
			// The whole path, with each line.
			list = document.createElement("ol");
			list.className = "stack";
			for (const number of row.getAttribute("data-path").split(" ")) {
				const item = document.createElement("li"), place = document.createElement("em");
				item.textContent = names[number].textContent;
				place.textContent = names[number].title;
				item.appendChild(place);
				list.appendChild(item);
			}
			row.lastElementChild.appendChild(list);
			flame.pick([frameOf(row)]);
			flame.show(frameOf(row));
		}, function () { if (kernel) leave(); });
		function showKernel(row) {
			kernel = row;
			paths.choose(null);
			status.textContent = "";
			tables.get(table).show(row ? function (path) { return ofKernel(path, row); } : null);
			flame.pick(row ? callers().map(frameOf) : []);
		}
		return { table: table, status: status, callers: callers, show: showKernel, focus: paths.focus };
	}
	function ofKernel(path, kernel) {
		return path.getAttribute("data-kernel") === kernel.getAttribute("data-kernel");
	}
	function addHint(section, text) {
		const what = section.querySelector("h2 small");
		if (what)
			what.textContent += "; " + text;
	}
	let firstPaths = null, picks = null;
	// Back to the kernel whose callers were shown.
	function leaveCallers() {
		picks.choose(null);
		picks.focus();
	}
	for (const section of document.querySelectorAll("#paths, #launch-paths")) {
		const paths = callPaths(section, leaveCallers);
		firstPaths = firstPaths || paths;
		addHint(section, "click one to see it in the flame graph, and all its lines");
	}

	// A kernel's callers are the rows of the first table of call paths.
	const kernels = document.querySelector("#kernels");
	if (kernels && firstPaths && firstPaths.table.querySelector("tr[data-kernel]:not([data-kernel='0'])")) {
		picks = pickable(kernels.querySelector("table"), function (row) {
			firstPaths.show(row);
			if (!row)
				return;
			const callers = firstPaths.callers(), whole = worth(row, 0), back = document.createElement("button");
			const sum = callers.reduce(function (ns, path) { return ns + worth(path, 0); }, 0);
			const name = row.lastElementChild.textContent;
			firstPaths.status.textContent = callers.length === 0 ?
				"This page has room for the heaviest call paths only: none of them launches " + name :
				callers.length.toLocaleString("en-US") +
				(callers.length === 1 ? " call path launches " : " call paths launch ") + name +
				(sum < whole ? ": " + (100 * sum / whole).toFixed(1) + "% of its GPU time; this page has no room for its others" : "");
			back.className = "more";
			back.textContent = "Show all call paths";
			back.addEventListener("click", leaveCallers);
			firstPaths.status.appendChild(back);
			firstPaths.table.closest("section").scrollIntoView({ block: "start" });
			firstPaths.focus();
		}, function () {});
		addHint(kernels, "click one to see its callers");
	}

	// The timeline: details below the pointer, and zoom by dragging.
	const tip = document.createElement("div");
	tip.className = "tip";
	document.body.appendChild(tip);
	function time(ns) {
		const units = [[1e3, 1, "ns"], [1e6, 1e3, "\u00b5s"], [1e9, 1e6, "ms"], [Infinity, 1e9, "s"]];
		for (const [below, by, name] of units)
			if (ns < below)
				return (ns / by).toPrecision(4) + "\u00a0" + name;
	}
	function timeline(element) {
		const bin = Number(element.getAttribute("data-bin"));
		const areas = Array.from(element.querySelectorAll(".area"));
		const rows = areas.map(function (area) { return area.getAttribute("data-busy").split(" ").map(Number); });
		const unknown = areas.map(function (area) { return (area.getAttribute("data-unknown") || "").split(" ").map(Number); });
		const count = rows[0].length, axis = element.querySelector(".axis div"), ticks = axis.innerHTML;
		const marks = Array.from(element.querySelectorAll(".area u")).map(function (u) {
			return { u: u, at: parseFloat(u.style.left) * count / 100, length: parseFloat(u.style.width) * count / 100 };
		});
		const reset = document.createElement("button");
		let from = 0, to = count, began = null;

		function drawAxis() {
			const length = (to - from) * bin;
			let tick = 1;
			while (tick < length / 6)
				tick *= tick * 2 >= length / 6 ? 2 : tick * 5 >= length / 6 ? 5 : 10;
			axis.textContent = "";
			for (let at = Math.ceil(from * bin / tick) * tick; at <= to * bin; at += tick) {
				const mark = document.createElement("i");
				const left = 100 * (at - from * bin) / length;
				mark.style.left = left.toFixed(3) + "%";
				mark.className = left > 96 ? "end" : "";
				mark.textContent = at ? time(at) : "0";
				axis.appendChild(mark);
			}
		}
		function show(first, behind) {
			from = first;
			to = behind;
			for (const area of areas)
				area.querySelector("svg").setAttribute("viewBox", from + " 0 " + (to - from) + " 100");
			for (const mark of marks) {
				const start = Math.max(mark.at, from), end = Math.min(mark.at + mark.length, to);
				mark.u.hidden = end <= start;
				mark.u.style.left = (100 * (start - from) / (to - from)).toFixed(3) + "%";
				mark.u.style.width = (100 * (end - start) / (to - from)).toFixed(3) + "%";
			}
			reset.hidden = from === 0 && to === count;
			if (reset.hidden)
				axis.innerHTML = ticks;
			else
				drawAxis();
		}
		function binAt(area, x) {
			const box = area.getBoundingClientRect();
			return Math.max(from, Math.min(to - 1, from + Math.floor((x - box.left) / box.width * (to - from))));
		}
		reset.className = "more";
		reset.textContent = "Show all of it";
		reset.hidden = true;
		reset.addEventListener("click", function () { show(0, count); });
		element.after(reset);
		const what = element.parentNode.querySelector("small");
		if (what)
			what.textContent += "; drag to zoom";
		areas.forEach(function (area, row) {
			const chosen = document.createElement("s");
			chosen.hidden = true;
			area.appendChild(chosen);
			function choose(x) {
				const i = binAt(area, x), low = Math.min(i, began), high = Math.max(i, began) + 1;
				chosen.style.left = 100 * (low - from) / (to - from) + "%";
				chosen.style.width = 100 * (high - low) / (to - from) + "%";
				chosen.hidden = high - low < 2;
				return [low, high];
			}
			area.addEventListener("pointerdown", function (event) {
				began = binAt(area, event.clientX);
				if (event.isTrusted)
					area.setPointerCapture(event.pointerId);
				event.preventDefault();
			});
			area.addEventListener("pointerup", function (event) {
				const part = began === null ? [0, 0] : choose(event.clientX);
				began = null;
				chosen.hidden = true;
				if (part[1] - part[0] > 1)
					show(part[0], part[1]);
			});
			area.addEventListener("dblclick", function () { show(0, count); });
			area.addEventListener("mousemove", function (event) {
				const i = binAt(area, event.clientX);
				const idle = event.target.tagName === "U" ? ", " + event.target.title : "";
				if (began !== null)
					choose(event.clientX);
				tip.textContent = "at " + time(i * bin) + ": " + rows[row][i] + "% busy" +
					(unknown[row][i] ? ", " + unknown[row][i] + "% not recorded" : "") + idle;
				tip.style.display = "block";
				tip.style.left = Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 4) + "px";
				tip.style.top = event.clientY + 16 + "px";
			});
			area.addEventListener("mouseleave", function () { tip.style.display = "none"; });
		});
	}
	for (const element of document.querySelectorAll(".timeline"))
		timeline(element);
})();
