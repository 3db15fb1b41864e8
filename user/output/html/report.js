// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
(function () {
	"use strict";
	const shownRows = 15;

	for (const svg of document.querySelectorAll("svg.gpumon-flame"))
		gpumonFlame(svg);

	function worth(row, column) {
		const cell = row.cells[column], value = cell.getAttribute("data-v");
		return value === null ? cell.textContent.toLowerCase() : Number(value);
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
		// Only show the beginning of long tables.
		let all = body.rows.length <= shownRows;
		const more = document.createElement("button");
		function fold() {
			Array.from(body.rows).forEach(function (row, i) { row.hidden = !all && i >= shownRows; });
			more.hidden = all;
		}
		more.className = "more";
		more.textContent = "Show all " + body.rows.length.toLocaleString("en-US");
		more.addEventListener("click", function () { all = true; fold(); });
		table.parentNode.after(more);
		fold();
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
