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
				// Numbers begin with the highest, names with the first.
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
		// Long tables show their beginning.
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

	// What the timeline says below the pointer.
	const tip = document.createElement("div");
	tip.className = "tip";
	document.body.appendChild(tip);
	function time(ns) {
		const units = [[1e3, 1, "ns"], [1e6, 1e3, "\u00b5s"], [1e9, 1e6, "ms"], [Infinity, 1e9, "s"]];
		for (const [below, by, name] of units)
			if (ns < below)
				return (ns / by).toPrecision(4) + "\u00a0" + name;
	}
	for (const area of document.querySelectorAll(".area")) {
		const bins = area.getAttribute("data-busy").split(" ").map(Number);
		const bin = Number(area.closest(".timeline").getAttribute("data-bin"));
		area.addEventListener("mousemove", function (event) {
			const box = area.getBoundingClientRect();
			const at = Math.floor((event.clientX - box.left) / box.width * bins.length);
			const i = Math.max(0, Math.min(bins.length - 1, at));
			const idle = event.target.tagName === "U" ? ", " + event.target.title : "";
			tip.textContent = "at " + time(i * bin) + ": " + bins[i] + "% busy" + idle;
			tip.style.display = "block";
			tip.style.left = Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 4) + "px";
			tip.style.top = event.clientY + 16 + "px";
		});
		area.addEventListener("mouseleave", function () { tip.style.display = "none"; });
	}
})();
