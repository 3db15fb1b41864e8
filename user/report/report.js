// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
(function () {
	"use strict";
	const shownRows = 15;

	// Functions are [class of the colour, name, label, module, a line about it]; lines are numbered from 1 on.
	function rowsOf(id) { return document.getElementById(id).textContent.split("\n"); }
	const functions = rowsOf("functions").map(function (row) {
		const f = row.split("\t"), label = f[2] || "", part = label.split(",").map(Number);
		f[2] = label[0] === "=" ? label.slice(1) : label ? f[1].substr(part[0], part[1]) : "";
		return f;
	});
	const lines = [""].concat(rowsOf("lines")), tables = new Map();

	// --- flame graphs: one is shown, and drawn when it is shown first

	function details(f, value, total, places, svg, count, own, left, calls) {
		const isCount = svg.getAttribute("data-weight") === "count", texts = [f[1]], module = f[3] || "";
		const about = left ? "~" : "";
		if (f[4])
			texts.push(f[4]);
		if (places.length > 1) {
			if (module)
				texts.push(module);
			for (let i = 0; i + 1 < places.length; i += 2)
				texts.push(gpumonPercent(places[i + 1], value) + " in " + (lines[places[i]] || "an unknown line"));
			if (places.length % 2)
				texts.push("and " + places[places.length - 1] + " more lines");
		} else if (places[0] || module) {
			texts.push([lines[places[0]], module].filter(Boolean).join(" \u00b7 "));
		}
		texts.push(about + gpumonHuman(value, isCount) + " " + svg.getAttribute("data-unit") + " \u00b7 " +
			gpumonPercent(value, total) + " of all" +
			(isCount || !count ? "" : " \u00b7 " + about + gpumonHuman(count, true) + (count === 1 ? " time" : " times")));
		if (left)
			texts.push(gpumonHuman(left, isCount) + " of it estimated");
		if (own)
			texts.push(gpumonHuman(own, isCount) + " of it here and not further on");
		if (calls)
			texts.push(gpumonHuman(calls) + " in the calls that launched it");
		return texts;
	}
	function drawFrames(svg) {
		const holder = svg.querySelector(".frames"), header = Number(svg.getAttribute("data-header"));
		const total = Number(svg.getAttribute("data-total")), next = [0];
		function make(name, attributes, parent) {
			const element = document.createElementNS(svg.namespaceURI, name);
			for (const key in attributes)
				element.setAttribute(key, attributes[key]);
			parent.appendChild(element);
			return element;
		}
		for (const record of holder.getAttribute("data-frames").split(";").filter(Boolean)) {
			const field = record.split(" "), depth = Number(field[0]), value = Number(field[1]);
			const f = functions[field[2]], start = next[depth], y = header + 18 * depth;
			// Frames come parents first, and beside each other from the left.
			next[depth] = start + value;
			next[depth + 1] = start;
			const g = make("g", { "class": "f", "data-s": start, "data-v": value, "data-d": depth }, holder);
			if (f[2])
				g.setAttribute("data-n", f[2]);
			g.gpumonLines = details(f, value, total, field[3].split(",").map(Number), svg, Number(field[4]),
				Number(field[5] || 0), Number(field[6] || 0), Number(field[7] || 0));
			make("rect", { y: y, height: 17, rx: 1.5, "class": f[0] }, g);
		}
		holder.removeAttribute("data-frames");
		return gpumonFlame(svg);
	}
	const pictures = Array.from(document.querySelectorAll("#flame .flame")), flames = [];
	const pathLists = Array.from(document.querySelectorAll("#paths .paths"));
	const tabs = Array.from(document.querySelectorAll("#flame .tabs button"));
	function showWeight(number) {
		pictures.forEach(function (picture, i) { picture.hidden = i !== number; });
		pathLists.forEach(function (list, i) { list.hidden = i !== number; });
		tabs.forEach(function (tab, i) {
			tab.setAttribute("aria-selected", i === number ? "true" : "false");
			tab.tabIndex = i === number ? 0 : -1;
		});
		if (!flames[number])
			flames[number] = drawFrames(pictures[number].querySelector("svg"));
		else
			flames[number].resize();
	}
	tabs.forEach(function (tab, i) {
		tab.addEventListener("click", function () { showWeight(i); });
		tab.addEventListener("keydown", function (event) {
			const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[event.key];
			if (to === undefined || !tabs[to])
				return;
			event.preventDefault();
			showWeight(to);
			tabs[to].focus();
		});
	});
	if (tabs.length)
		showWeight(0);

	// --- tables

	function worth(row, column) {
		const cell = row.cells[column], value = cell.getAttribute("data-v");
		return value === null ? (cell.firstChild ? cell.firstChild.textContent : "").toLowerCase() : Number(value);
	}
	const labels = document.createElement("style");
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
		state.unfold = function () {
			all = true;
			fold();
		};
		tables.set(table, state);
		fold();
		// On a narrow screen a row is several lines, and each number has its title in front.
		heads.forEach(function (head, column) {
			labels.textContent += head.classList.contains("n") ? "#" + table.id + " td:nth-child(" + (column + 1) +
				")::before { content: \"" + head.textContent + " \"; }\n" : "";
		});
	}
	labels.textContent = "@media (max-width: 700px) {\n" + labels.textContent + "}";
	document.head.appendChild(labels);

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

	// The path of a row as [function, line], the outermost first.
	function pathOf(row) {
		return row.getAttribute("data-path").split(" ").map(function (place) {
			const part = place.split(":");
			return [functions[part[0]], lines[part[1] || 0]];
		});
	}
	function kernelOf(path) {
		return path.getAttribute("data-path").split(" ").pop().split(":")[0];
	}
	// A table of call paths, and its flame graph.
	function callPaths(list, number, leave) {
		const table = list.querySelector("table"), status = list.querySelector(".picked");
		let open = null, kernel = null;
		function frameOf(row) {
			return Number(row.getAttribute("data-frame"));
		}
		function callers() {
			return Array.from(table.tBodies[0].rows).filter(function (row) { return ofKernel(row, kernel); });
		}
		for (const row of table.tBodies[0].rows)
			row.cells[row.cells.length - 2].title = functions[kernelOf(row)][1];
		const paths = pickable(table, function (row) {
			if (open)
				open.remove();
			open = null;
			if (!row) {
				flames[number].pick(kernel ? callers().map(frameOf) : []);
				return;
			}
			// The whole path, with each line.
			open = document.createElement("ol");
			open.className = "stack";
			for (const [f, line] of pathOf(row)) {
				const item = document.createElement("li"), place = document.createElement("em");
				item.textContent = f[1];
				place.textContent = line || f[3] || "";
				item.appendChild(place);
				open.appendChild(item);
			}
			row.lastElementChild.appendChild(open);
			flames[number].pick([frameOf(row)]);
			flames[number].show(frameOf(row));
		}, function () { if (kernel) leave(); });
		function showKernel(row) {
			kernel = row;
			paths.choose(null);
			status.textContent = "";
			tables.get(table).show(row ? function (path) { return ofKernel(path, row); } : null);
			flames[number].pick(row ? callers().map(frameOf) : []);
		}
		return { table: table, status: status, callers: callers, show: showKernel, focus: paths.focus };
	}
	function ofKernel(path, kernel) {
		return kernelOf(path) === kernel.getAttribute("data-kernel");
	}
	function addHint(text, element) {
		if (element)
			element.textContent += "; " + text;
	}
	let firstPaths = null, picks = null;
	// Back to the kernel whose callers were shown.
	function leaveCallers() {
		picks.choose(null);
		picks.focus();
	}
	pathLists.forEach(function (list, number) {
		if (!list.querySelector("table"))
			return;
		const paths = callPaths(list, number, leaveCallers);
		firstPaths = firstPaths || (number === 0 ? paths : null);
		addHint("click one to see it in the flame graph, and all its lines", list.querySelector(".what"));
	});

	// A kernel's callers are the rows of the first table of call paths.
	const kernels = document.querySelector("#kernels");
	for (const row of kernels ? kernels.querySelector("table").tBodies[0].rows : [])
		row.cells[0].title = functions[row.getAttribute("data-kernel")][1];
	if (kernels && firstPaths && document.querySelector("#paths-gpu")) {
		picks = pickable(kernels.querySelector("table"), function (row) {
			showWeight(0);
			firstPaths.show(row);
			if (!row)
				return;
			const callers = firstPaths.callers(), whole = worth(row, 1), back = document.createElement("button");
			const sum = callers.reduce(function (ns, path) { return ns + worth(path, 0); }, 0);
			const name = row.cells[0].firstChild.textContent;
			firstPaths.status.textContent = callers.length === 0 ?
				"This page has room for the heaviest call paths only: none of them launches " + name :
				callers.length.toLocaleString("en-US") +
				(callers.length === 1 ? " call path launches " : " call paths launch ") + name +
				(sum < whole ? ": " + gpumonPercent(sum, whole) + " of its GPU time; this page has no room for its others" : "");
			back.className = "more";
			back.textContent = "Show all call paths";
			back.addEventListener("click", leaveCallers);
			firstPaths.status.appendChild(back);
			firstPaths.table.closest("section").scrollIntoView({ block: "start" });
			firstPaths.focus();
		}, function () {});
		addHint("click one to see its callers", kernels.querySelector("h2 small"));
	}

	// --- the timeline: details at the pointer, and zoom by dragging or by keys

	const tip = document.createElement("div");
	tip.className = "tip";
	document.body.appendChild(tip);
	function time(ns) {
		const units = [[1e3, 1, "ns"], [1e6, 1e3, "\u00b5s"], [1e9, 1e6, "ms"], [Infinity, 1e9, "s"]];
		for (const [below, by, name] of units)
			if (ns < below)
				return (by === 1 && ns === Math.round(ns) ? String(ns) : (ns / by).toPrecision(4)) + "\u00a0" + name;
	}
	// Deep in a zoom two labels may differ after many digits only.
	function label(ns, step) {
		const units = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]];
		const [by, name] = units.find(function (unit) { return ns >= unit[0]; }) || units[3];
		return ns ? (ns / by).toFixed(Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / by) - 1e-9)))) + "\u00a0" + name : "0";
	}
	// "0x12 40" is twelve zeros and a forty.
	function expand(text) {
		const all = [];
		for (const part of text.split(" ")) {
			const [value, times] = part.split("x");
			for (let i = 0; i < Number(times || 1); i++)
				all.push(value);
		}
		return all;
	}
	const stateTexts = new Map();
	for (const entry of document.querySelectorAll(".states span"))
		stateTexts.set(entry.querySelector("i").className.slice(-1), entry.textContent);
	// "l20b80" is [["l", 20], ["b", 80]].
	function statesOf(text) {
		return Array.from(text.matchAll(/([a-z])(\d+)/g), function (m) { return [m[1], Number(m[2])]; });
	}
	// "88/80/90" is { mean: 88, least: 80, most: 90 }, and "-" nothing.
	function metricOf(text) {
		const part = text.split("/").map(Number);
		return text === "-" ? null : { mean: part[0], least: part[1], most: part[2] };
	}
	function metricText(value, unit) {
		if (unit === "%" || !unit)
			return unit ? value.toFixed(1) + "%" : String(value);
		const steps = ["", "k", "M", "G", "T", "P"];
		let by = 0;
		for (; Math.abs(value) >= 999.5 && by < 5; by++)
			value /= 1000;
		return value.toPrecision(3) + "\u00a0" + steps[by] + unit;
	}
	function svgPath(name) {
		const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
		path.setAttribute("class", name);
		return path;
	}
	// Shows a part of the first timeline.
	let showPart = null;
	function timeline(element) {
		const length = Number(element.getAttribute("data-length")), bin = Number(element.getAttribute("data-bin"));
		const axis = element.querySelector(".axis div"), ticks = axis.innerHTML;
		const rows = Array.from(element.querySelectorAll(".area"), function (area) {
			let at = 0;
			const row = {
				area: area, svg: area.querySelector("svg"), cell: Number(area.getAttribute("data-cell") || bin),
				states: area.hasAttribute("data-states") ? expand(area.getAttribute("data-states")).map(statesOf) : null,
				metric: area.hasAttribute("data-metric") ? expand(area.getAttribute("data-metric")).map(metricOf) : null,
				top: Number(area.getAttribute("data-top")), unit: area.getAttribute("data-unit"),
				busy: expand(area.getAttribute("data-busy") || "0").map(Number),
				unknown: expand(area.getAttribute("data-unknown") || "0").map(Number),
				operations: (area.getAttribute("data-operations") || "").split(";").filter(Boolean).map(function (text) {
					const [since, ns, name] = text.split(",").map(Number);
					at += since;
					return { start: at, end: at + ns, f: functions[name], shown: null };
				}),
				marks: Array.from(area.querySelectorAll("u"), function (u) {
					return { u: u, at: parseFloat(u.style.left) * length / 100, length: parseFloat(u.style.width) * length / 100 };
				})
			};
			row.drawn = row.svg.innerHTML;
			row.view = row.svg.getAttribute("viewBox");
			return row;
		});
		const reset = document.createElement("button");
		let from = 0, to = length;

		function drawAxis() {
			const shown = to - from;
			let tick = 1;
			while (tick < shown / 6)
				tick *= tick * 2 >= shown / 6 ? 2 : tick * 5 >= shown / 6 ? 5 : 10;
			axis.textContent = "";
			for (let at = Math.ceil(from / tick) * tick; at <= to; at += tick) {
				const mark = document.createElement("i"), left = 100 * (at - from) / shown;
				mark.style.left = left.toFixed(3) + "%";
				mark.className = left > 96 ? "end" : "";
				mark.textContent = label(at, tick);
				axis.appendChild(mark);
			}
		}
		// Parts of the time in units of a thousandth of what is shown.
		function x(ns) {
			return (1000 * (Math.max(from, Math.min(to, ns)) - from) / (to - from)).toFixed(2);
		}
		function cells(row, count, tell) {
			const first = Math.max(0, Math.floor(from / row.cell)), last = Math.min(count - 1, Math.floor(to / row.cell));
			for (let i = first; i <= last; i++)
				tell(i, x(i * row.cell), x((i + 1) * row.cell));
		}
		function drawStates(row) {
			const paths = new Map();
			cells(row, row.states.length, function (i, left, right) {
				let top = 100;
				for (const [state, part] of row.states[i]) {
					const list = paths.get(state) || [], bottom = top;
					top -= part;
					const last = list[list.length - 1];
					if (last && last[1] === left && last[2] === bottom && last[3] === top)
						last[1] = right;
					else
						list.push([left, right, bottom, top]);
					paths.set(state, list);
				}
			});
			row.svg.setAttribute("viewBox", "0 0 1000 100");
			row.svg.textContent = "";
			for (const [state, list] of paths) {
				const path = row.svg.appendChild(svgPath("state-" + state));
				path.setAttribute("d", list.map(function (part) {
					return "M" + part[0] + " " + part[2] + "H" + part[1] + "V" + part[3] + "H" + part[0] + "Z"; }).join(""));
			}
		}
		function drawBusy(row) {
			let busy = "M0 100", unknown = "M0 0";
			if (from === 0 && to === length) {
				row.svg.setAttribute("viewBox", row.view);
				row.svg.innerHTML = row.drawn;
				return;
			}
			cells(row, row.busy.length, function (i, left, right) {
				busy += "H" + left + "V" + (100 - (row.busy[i] ? Math.max(3, row.busy[i]) : 0)) + "H" + right;
				unknown += "H" + left + "V" + (row.unknown[i] || 0) + "H" + right;
			});
			row.svg.setAttribute("viewBox", "0 0 1000 100");
			row.svg.textContent = "";
			row.svg.appendChild(svgPath("unknown")).setAttribute("d", unknown + "V0Z");
			row.svg.appendChild(svgPath("busy")).setAttribute("d", busy + "V100Z");
		}
		function drawMetric(row) {
			const paths = { most: "", mean: "" };
			cells(row, row.metric.length, function (i, left, right) {
				for (const key of row.metric[i] ? ["most", "mean"] : []) {
					const height = Math.max(2, Math.min(100, 100 * row.metric[i][key] / row.top));
					paths[key] += "M" + left + " 100V" + (100 - height) + "H" + right + "V100Z";
				}
			});
			row.svg.textContent = "";
			for (const key of ["most", "mean"])
				row.svg.appendChild(svgPath(key)).setAttribute("d", paths[key]);
		}
		// The longest operations by name, where they are wide enough.
		function drawOperations(row) {
			const width = row.area.clientWidth;
			for (const operation of row.operations) {
				const px = width * (operation.end - operation.start) / (to - from);
				if (operation.shown)
					operation.shown.remove();
				operation.shown = null;
				if (px < 3 || operation.end <= from || operation.start >= to)
					continue;
				const box = document.createElement("b"), start = Math.max(from, operation.start);
				const room = Math.floor((width * (Math.min(to, operation.end) - start) / (to - from) - 6) / 6.7);
				box.className = "op " + operation.f[0];
				box.style.left = 100 * (start - from) / (to - from) + "%";
				box.style.width = 100 * (Math.min(to, operation.end) - start) / (to - from) + "%";
				if (room >= 3)
					box.textContent = gpumonFit(operation.f[2] || operation.f[1], room);
				box.operation = operation;
				row.area.appendChild(box);
				operation.shown = box;
			}
		}
		function show(first, behind) {
			const least = Math.min(20, length);
			from = Math.max(0, Math.min(first, length - least));
			to = Math.min(length, Math.max(behind, from + least));
			element.setAttribute("data-shown", from + " " + to);
			for (const row of rows) {
				if (row.states)
					drawStates(row);
				else if (row.metric)
					drawMetric(row);
				else
					drawBusy(row);
				for (const mark of row.marks) {
					const start = Math.max(mark.at, from), end = Math.min(mark.at + mark.length, to);
					mark.u.hidden = end <= start;
					mark.u.style.left = (100 * (start - from) / (to - from)).toFixed(3) + "%";
					mark.u.style.width = (100 * (end - start) / (to - from)).toFixed(3) + "%";
				}
				drawOperations(row);
			}
			reset.hidden = from === 0 && to === length;
			if (reset.hidden)
				axis.innerHTML = ticks;
			else
				drawAxis();
		}
		function scale(by, at) {
			show(at - (at - from) * by, at + (to - at) * by);
		}
		function move(by) {
			const shift = Math.max(-from, Math.min(length - to, by * (to - from)));
			show(from + shift, to + shift);
		}
		function timeAt(area, clientX) {
			const box = area.getBoundingClientRect();
			return from + Math.max(0, Math.min(1, (clientX - box.left) / box.width)) * (to - from);
		}
		reset.className = "more";
		reset.textContent = "Show all of it";
		reset.hidden = true;
		reset.addEventListener("click", function () { show(0, length); });
		element.after(reset);
		addHint("drag, or + and - and arrow keys, to zoom", element.parentNode.querySelector(".what"));
		if (rows.some(function (row) { return row.operations.length; }))
			addHint("a zoom shows the longest operations by name, short ones as a sum", element.parentNode.querySelector(".what"));
		element.tabIndex = 0;
		element.setAttribute("aria-label", "Timeline");
		element.addEventListener("keydown", function (event) {
			if (event.ctrlKey || event.altKey || event.metaKey)
				return;
			if (event.key === "+" || event.key === "=")
				scale(0.5, (from + to) / 2);
			else if (event.key === "-")
				scale(2, (from + to) / 2);
			else if (event.key === "ArrowRight" || event.key === "ArrowLeft")
				move(event.key === "ArrowRight" ? 0.25 : -0.25);
			else if (event.key === "Escape" || event.key === "0")
				show(0, length);
			else
				return;
			event.preventDefault();
		});
		function tipText(row, event) {
			const at = timeAt(row.area, event.clientX), i = Math.floor(at / row.cell), operation = event.target.operation;
			if (operation)
				return (operation.f[2] || operation.f[1]).slice(0, 200) + ": " + time(operation.end - operation.start) + " at " + time(operation.start);
			if (row.states)
				return "at " + time(at) + ": " + ((row.states[i] || []).map(function (state) {
					return state[1] + "% " + (stateTexts.get(state[0]) || ""); }).join(", ") || "before the first call, or after the last one");
			if (row.metric) {
				const part = row.metric[i];
				return "at " + time(at) + ": " + (part ? metricText(part.mean, row.unit) + " (" + metricText(part.least, row.unit) +
					" to " + metricText(part.most, row.unit) + ") in " + time(row.cell) : "no sample");
			}
			return "at " + time(at) + ": " + (row.busy[i] || 0) + "% busy" +
				(row.unknown[i] ? ", " + row.unknown[i] + "% not recorded" : "") +
				(event.target.tagName === "U" ? ", " + event.target.title : "");
		}
		for (const row of rows) {
			const area = row.area, chosen = document.createElement("s");
			let began = null, beganX = 0;
			chosen.hidden = true;
			area.appendChild(chosen);
			function choose(event) {
				const at = timeAt(area, event.clientX), low = Math.min(at, began), high = Math.max(at, began);
				chosen.style.left = 100 * (low - from) / (to - from) + "%";
				chosen.style.width = 100 * (high - low) / (to - from) + "%";
				chosen.hidden = Math.abs(event.clientX - beganX) < 4;
				return chosen.hidden ? null : [low, high];
			}
			area.addEventListener("pointerdown", function (event) {
				began = timeAt(area, event.clientX);
				beganX = event.clientX;
				if (event.isTrusted)
					area.setPointerCapture(event.pointerId);
				element.focus({ preventScroll: true });
				event.preventDefault();
			});
			area.addEventListener("pointerup", function (event) {
				const part = began === null ? null : choose(event);
				began = null;
				chosen.hidden = true;
				if (part)
					show(part[0], part[1]);
			});
			area.addEventListener("pointercancel", function () { began = null; chosen.hidden = true; });
			area.addEventListener("dblclick", function () { show(0, length); });
			area.addEventListener("wheel", function (event) {
				if (!event.ctrlKey)
					return;
				event.preventDefault();
				scale(event.deltaY > 0 ? 1.25 : 0.8, timeAt(area, event.clientX));
			}, { passive: false });
			area.addEventListener("mousemove", function (event) {
				if (began !== null)
					choose(event);
				tip.textContent = tipText(row, event);
				tip.style.display = "block";
				tip.style.left = Math.max(4, Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 4)) + "px";
				tip.style.top = event.clientY + 16 + "px";
			});
			area.addEventListener("mouseleave", function () { tip.style.display = "none"; });
		}
		window.addEventListener("resize", function () { rows.forEach(drawOperations); });
		show(0, length);
		showPart = showPart || function (first, behind) {
			show(first, behind);
			element.closest("section").scrollIntoView({ block: "start" });
		};
	}
	for (const element of document.querySelectorAll(".timeline"))
		timeline(element);

	// --- frames: a late one leads to its time in the timeline, or to its row where there is none

	function showFrame(element) {
		const [start, end] = element.getAttribute("data-part").split(" ").map(Number), around = (end - start) / 10;
		if (showPart)
			showPart(start - around, end + around);
	}
	const lateTable = document.querySelector("#frames-table");
	const lateRows = lateTable && pickable(lateTable, function (row) {
		if (row)
			showFrame(row);
	}, function () {});
	for (const bar of document.querySelectorAll("#frames g.late"))
		bar.addEventListener("click", function () {
			const row = document.getElementById(bar.getAttribute("data-row"));
			if (row && row.hidden)
				tables.get(lateTable).unfold();
			if (row)
				lateRows.choose(row);
			if (row && !showPart)
				row.scrollIntoView({ block: "center" });
			showFrame(bar);
		});
	if (lateTable && showPart)
		addHint("click a late one to see its time in the timeline", document.querySelector("#frames .what"));
})();
