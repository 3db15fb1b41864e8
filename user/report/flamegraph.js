// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
// Three digits and a unit, as everywhere in the program's outputs; a number of times has none.
function gpumonHuman(value, isCount) {
	// toLocaleString() takes longer than all else of a page.
	if (isCount)
		return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
	const units = [[1e3, 1, "ns"], [999500, 1e3, "\u00b5s"], [999500000, 1e6, "ms"], [Infinity, 1e9, "s"]];
	for (const [below, by, name] of units)
		if (value < below) {
			const part = value / by, digits = part < 9.995 ? 2 : part < 99.95 ? 1 : 0;
			return (by === 1 ? String(value) : part.toFixed(digits)) + "\u00a0" + name;
		}
}
function gpumonPercent(part, whole) {
	const p = whole ? 100 * part / whole : 0;
	return part && p < 0.005 ? "<0.01%" : p < 9.995 ? p.toFixed(2) + "%" : p.toFixed(1) + "%";
}
function gpumonColumns(text) {
	let n = 0;
	for (const c of text)
		n += /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]|[\ud83c-\ud87f]/.test(c) ? 2 : 1;
	return n;
}
function gpumonCut(text, room) {
	const all = Array.from(text);
	if (gpumonColumns(text) <= room)
		return text;
	let n = 0, used = 0;
	while (n < all.length && used + gpumonColumns(all[n]) <= room - 1)
		used += gpumonColumns(all[n++]);
	return n ? all.slice(0, n).join("") + "\u2026" : "";
}
// Skip the outermost "a::".
function gpumonBehindNamespace(text) {
	let depth = 0;
	for (let i = 0; i + 2 < text.length; i++) {
		if ("<({".includes(text[i]))
			depth++;
		else if (">)}".includes(text[i]) && text[i - 1] !== "-")
			depth--;
		else if (!depth && text.startsWith("::", i))
			return text.slice(i + 2);
	}
	return null;
}
// Drop namespaces before cutting the name itself, unless only "call" would be left.
function gpumonFit(text, room) {
	const general = /^(call|redispatch|impl|apply|run|invoke|forward|backward|operator\(\))$/;
	if (gpumonColumns(text) > room)
		text = text.replace(/<.*>/, function (inner) {
			return inner.replace(/\(anonymous namespace\)::|[\w$]+::/g, ""); });
	while (gpumonColumns(text) > room) {
		const next = gpumonBehindNamespace(text);
		if (next === null || general.test(next))
			break;
		text = next;
	}
	return gpumonCut(text, room);
}
function gpumonFlame(svg) {
	"use strict";
	const NS = "http://www.w3.org/2000/svg";
	const margin = 10, rowHeight = 18, textMargin = 4;
	const columns = gpumonColumns, cut = gpumonCut, fit = gpumonFit;
	const unit = svg.getAttribute("data-weight");
	const total = Number(svg.getAttribute("data-total"));
	const drawnHeight = Number(svg.getAttribute("height"));
	let height = drawnHeight;
	const part = svg.parentNode && svg.parentNode.nodeType === 1;

	function make(name, attributes, parent) {
		const element = document.createElementNS(NS, name);
		for (const key in attributes)
			element.setAttribute(key, attributes[key]);
		(parent || svg).appendChild(element);
		return element;
	}

	// Frames come parents first, each with its start and weight.
	const frames = [];
	const open = [];
	for (const g of svg.querySelectorAll("g.f")) {
		const title = g.querySelector("title");
		// A page's script has made the frames, and their texts.
		const lines = g.gpumonLines || title.textContent.split("\n");
		const frame = {
			g: g, rect: g.querySelector("rect"), text: g.querySelector("text"),
			start: Number(g.getAttribute("data-s")), value: Number(g.getAttribute("data-v")),
			depth: Number(g.getAttribute("data-d")), lines: lines, name: lines[0],
			label: g.getAttribute("data-n") || lines[0], children: [], hit: false, shown: true,
			places: lines.slice(1).filter(function (line) { return /:\d+( \u00b7 |$)/.test(line); })
		};
		if (title)
			title.remove();
		if (!frame.text)
			frame.text = make("text", { y: Number(frame.rect.getAttribute("y")) + 13 }, g);
		open.length = frame.depth;
		frame.parent = open[frame.depth - 1] || null;
		if (frame.parent)
			frame.parent.children.push(frame);
		open.push(frame);
		g.setAttribute("aria-label", lines.join(", "));
		g.frame = frame;
		frames.push(frame);
	}
	if (!frames.length)
		return;
	for (const frame of frames)
		frame.children.sort(function (a, b) { return a.start - b.start; });
	let zoom = frames[0], current = null, width = 1200, characterWidth = 7.25;

	function show(frame, shown) {
		if (frame.shown !== shown) {
			frame.g.style.display = shown ? "" : "none";
			frame.shown = shown;
		}
	}
	function place(frame, x, w) {
		frame.rect.setAttribute("x", x.toFixed(2));
		frame.rect.setAttribute("width", Math.max(w, 0.1).toFixed(2));
		const room = Math.floor((w - 2 * textMargin) / characterWidth);
		const text = room >= 3 ? fit(frame.label, room) : "";
		if (frame.text.textContent !== text)
			frame.text.textContent = text;
		if (text)
			frame.text.setAttribute("x", (x + textMargin).toFixed(2));
	}
	function draw() {
		const room = width - 2 * margin, scale = zoom.value ? room / zoom.value : 0;
		const above = new Set();
		for (let f = zoom.parent; f; f = f.parent)
			above.add(f);
		// The frames below the zoomed one follow it, as parents come first.
		let inside = false;
		for (const frame of frames) {
			if (frame === zoom)
				inside = true;
			else if (inside && frame.depth <= zoom.depth)
				inside = false;
			frame.g.classList.toggle("up", above.has(frame));
			if (above.has(frame)) {
				show(frame, true);
				place(frame, margin, room);
				continue;
			}
			const w = frame.value * scale;
			show(frame, inside && w >= 0.1);
			if (frame.shown)
				place(frame, margin + (frame.start - zoom.start) * scale, w);
		}
		crumbs();
	}

	// The path to the zoomed frame: all > main > train.
	const hint = svg.querySelector(".hint");
	function crumbs() {
		hint.textContent = "";
		if (zoom === frames[0]) {
			hint.textContent = width < 500 ? "Tap: zoom." :
				"Click: zoom.  Arrow keys: move, Enter: zoom, Escape: back.  / : search.";
			return;
		}
		const path = [];
		for (let f = zoom; f; f = f.parent)
			path.unshift(f);
		// The result of a search is on the same line.
		let room = Math.floor((width - 2 * margin - (found.textContent ? 270 : 0)) / 6.6) - 8;
		const shown = [];
		for (let i = path.length - 1; i >= 0; i--) {
			const name = i ? cut(path[i].label, 32) : "Reset zoom";
			room -= columns(name) + 3;
			if (room < 16 && i) {
				i = 1;
				shown.unshift(null);
				continue;
			}
			shown.unshift([path[i], name]);
		}
		shown.forEach(function (entry, i) {
			if (i)
				make("tspan", {}, hint).textContent = " \u203a ";
			const span = make("tspan", {}, hint);
			span.textContent = entry ? entry[1] : "\u2026";
			if (entry && entry[0] !== zoom) {
				span.setAttribute("class", "button");
				span.addEventListener("click", function () { zoomTo(entry[0]); });
			}
		});
	}
	function zoomTo(frame) {
		zoom = frame;
		hideTip();
		draw();
	}

	// Details of the frame below the pointer.
	const tip = make("g", { "class": "tip", visibility: "hidden" });
	const tipBox = make("rect", { rx: 5 }, tip);
	function hideTip() {
		tip.setAttribute("visibility", "hidden");
	}
	function showTip(frame, x, y) {
		const room = Math.max(20, Math.min(100, Math.floor((width - 40) / characterWidth)));
		const lines = [];
		frame.lines.forEach(function (line, i) {
			let rest = Array.from(line);
			do {
				lines.push([rest.slice(0, room).join(""), i === 0]);
				rest = rest.slice(room);
			} while (rest.length && lines.length < 20);
		});
		if (zoom !== frames[0])
			lines.push([gpumonPercent(frame.value, zoom.value) + " of " + cut(zoom.label, 40), false]);
		while (tip.childNodes.length > 1)
			tip.lastChild.remove();
		let longest = 0;
		lines.forEach(function (line, i) {
			const text = make("text", { x: 8, y: 18 + 16 * i }, tip);
			text.textContent = line[0];
			if (line[1])
				text.setAttribute("class", "name");
			longest = Math.max(longest, columns(line[0]));
		});
		const w = longest * characterWidth + 18, h = lines.length * 16 + 10;
		const box = svg.getBoundingClientRect();
		tipBox.setAttribute("width", w);
		tipBox.setAttribute("height", h);
		// Keep it within the picture and the window, and beside the pointer.
		const left = Math.max(2, Math.min(x + 14, width - w - 2));
		const bottom = Math.min(height, window.innerHeight - box.top);
		let top = y + 18;
		if (top + h > bottom)
			top = Math.max(-box.top, y - h - 10, 0);
		tip.setAttribute("transform", "translate(" + left + "," + top + ")");
		tip.setAttribute("visibility", "visible");
	}
	function frameOf(target) {
		const g = target.closest && target.closest("g.f");
		return g ? g.frame : null;
	}
	svg.addEventListener("mousemove", function (event) {
		const frame = frameOf(event.target), box = svg.getBoundingClientRect();
		if (frame)
			showTip(frame, event.clientX - box.left, event.clientY - box.top);
		else
			hideTip();
	});
	svg.addEventListener("mouseleave", hideTip);
	svg.addEventListener("click", function (event) {
		const frame = frameOf(event.target);
		if (frame) {
			mark(frame, false);
			zoomTo(frame);
		}
	});

	function mark(frame, look) {
		if (current)
			current.g.classList.remove("current");
		current = frame;
		current.g.classList.add("current");
		if (!look)
			return;
		current.g.scrollIntoView({ block: "nearest" });
		showTip(frame, Number(frame.rect.getAttribute("x")) + 10, Number(frame.rect.getAttribute("y")) + 10);
	}
	function shownBeside(frame, step) {
		const all = frames.filter(function (f) { return f.depth === frame.depth && f.shown; });
		all.sort(function (a, b) { return a.start - b.start; });
		return all[all.indexOf(frame) + step];
	}

	// The search text is a regular expression, or plain text if that is invalid.
	const holder = make("foreignObject", { x: 0, y: 5, width: 250, height: 30 });
	const input = document.createElementNS("http://www.w3.org/1999/xhtml", "input");
	input.setAttribute("type", "search");
	input.setAttribute("placeholder", "Search (/)");
	input.setAttribute("aria-label", "Search for a function or kernel");
	holder.appendChild(input);
	const found = make("text", { "class": "subtitle found", y: hint.getAttribute("y"), "text-anchor": "end", "aria-live": "polite" });
	function search(text) {
		let expression = null, sum = 0, n = 0, inside = -1;
		// "model.py:88" is the line of a call.
		const byPlace = /:\d/.test(text);
		if (text) {
			try {
				expression = new RegExp(text, "i");
			} catch (error) {
				expression = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
			}
		}
		for (const frame of frames) {
			frame.hit = expression !== null && (expression.test(frame.name) || (byPlace &&
				frame.places.some(function (place) { return expression.test(place); })));
			frame.g.classList.toggle("hit", frame.hit);
			if (inside >= 0 && frame.depth <= inside)
				inside = -1;
			if (!frame.hit)
				continue;
			n++;
			// A match within another match is already included in its time.
			if (inside < 0) {
				sum += frame.value;
				inside = frame.depth;
			}
		}
		found.textContent = expression === null ? "" : n === 0 ? "nothing matches" :
			gpumonHuman(sum, unit === "count") + ", " + gpumonPercent(sum, total) + " in " + n + (n === 1 ? " frame" : " frames");
		hint.style.visibility = text && width < 760 ? "hidden" : "";
		crumbs();
	}
	input.addEventListener("input", function () { search(input.value); });
	input.addEventListener("keydown", function (event) {
		event.stopPropagation();
		if (event.key === "Escape") {
			input.value = "";
			search("");
			svg.focus();
		} else if (event.key === "Enter") {
			nextHit(1);
			svg.focus();
		}
	});
	function nextHit(step) {
		const hits = frames.filter(function (f) { return f.hit && f.shown; });
		if (hits.length)
			mark(hits[(hits.indexOf(current) + step + hits.length) % hits.length], true);
	}

	svg.setAttribute("tabindex", "0");
	function keys(event) {
		if (event.ctrlKey || event.altKey || event.metaKey)
			return;
		let next = null;
		// The direction of the callers depends on the orientation of the graph.
		const icicle = svg.getAttribute("data-icicle") === "1";
		const outward = icicle ? "ArrowDown" : "ArrowUp", inward = icicle ? "ArrowUp" : "ArrowDown";
		if (event.key === "/") {
			input.focus();
		} else if (event.key === "Escape") {
			zoomTo(frames[0]);
		} else if (event.key === "Backspace" && zoom.parent) {
			zoomTo(zoom.parent);
		} else if (event.key === "Enter" && current) {
			zoomTo(current);
			showTip(current, margin + 10, Number(current.rect.getAttribute("y")) + 10);
		} else if (event.key === "n" || event.key === "N") {
			nextHit(event.key === "n" ? 1 : -1);
		} else if (event.key === outward) {
			next = current ? current.children.find(function (f) { return f.shown; }) : frames[0];
		} else if (event.key === inward) {
			next = current ? current.parent : frames[0];
		} else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
			next = current ? shownBeside(current, event.key === "ArrowLeft" ? -1 : 1) : frames[0];
		} else {
			return;
		}
		event.preventDefault();
		if (next)
			mark(next, true);
	}
	svg.addEventListener("keydown", keys);
	// On as many lines as needed; frames that are too narrow come last.
	const entries = Array.from(svg.querySelectorAll(".legend .entry, .legend .narrow"));
	function legend() {
		let x = margin, line = 0;
		for (const entry of entries) {
			const note = entry.classList.contains("narrow");
			const text = note ? entry : entry.querySelector("text");
			const w = text.getComputedTextLength() + (note ? 0 : 34);
			if (x > margin && x + w > width - margin) {
				x = margin;
				line++;
			}
			const from = note ? Number(entry.getAttribute("x")) : Number(entry.querySelector("rect").getAttribute("x"));
			// The note is at the right, also without the script.
			const to = note ? (line && x === margin ? margin + w : width - margin) : x;
			entry.setAttribute("transform", "translate(" + (to - from).toFixed(2) + "," + 18 * line + ")");
			x += w;
		}
		height = drawnHeight + 18 * line;
		svg.setAttribute("height", height);
		svg.querySelector(".paper").setAttribute("height", height);
	}
	// Mark the ways to frames, given by their numbers in the order of the picture.
	const picked = new Set();
	function pick(numbers) {
		for (const frame of picked)
			frame.g.classList.remove("picked");
		picked.clear();
		for (const number of numbers)
			for (let f = frames[number - 1]; f && !picked.has(f); f = f.parent) {
				picked.add(f);
				f.g.classList.add("picked");
			}
		svg.classList.toggle("picks", picked.size > 0);
		if (picked.size && zoom !== frames[0])
			zoomTo(frames[0]);
	}
	const fitted = [];
	for (const element of svg.querySelectorAll(".title, .subtitle, .losses"))
		fitted.push([element, element.getAttribute("data-full") || element.textContent]);
	function resize() {
		const room = part ? svg.parentNode.clientWidth : document.documentElement.clientWidth;
		width = Math.max(320, room || 1200);
		svg.setAttribute("width", width);
		svg.removeAttribute("viewBox");
		const sample = make("text", { visibility: "hidden" });
		sample.textContent = "MMMMMMMMMMMMMMMMMMMM";
		characterWidth = sample.getComputedTextLength() / 20 || 7.25;
		sample.remove();
		const box = Math.max(130, Math.min(250, Math.floor(width / 3)));
		holder.setAttribute("x", width - margin - box);
		holder.setAttribute("width", box);
		found.setAttribute("x", width - margin);
		legend();
		for (const [element, text] of fitted) {
			if (element === found)
				continue;
			const size = element.getAttribute("class") === "title" ? 9.2 : 6.7;
			const y = Number(element.getAttribute("y"));
			const shown = cut(text, Math.floor((width - 3 * margin - (y < 40 ? box : 0)) / size));
			element.textContent = shown;
			if (shown !== text)
				make("title", {}, element).textContent = text;
		}
		draw();
	}
	window.addEventListener("resize", resize);
	resize();
	return { pick: pick, resize: resize, show: function (number) { frames[number - 1].g.scrollIntoView({ block: "nearest" }); } };
}
