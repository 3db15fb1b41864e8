-- SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
PRAGMA user_version = 1;

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;

CREATE TABLE capture (
	id INTEGER PRIMARY KEY, path TEXT, command TEXT, host TEXT, boot_id TEXT, gpumon_version TEXT,
	begin_realtime_ns INTEGER, begin_monotonic_ns INTEGER, ended INTEGER, lost_records INTEGER,
	truncated_bytes INTEGER, broken_chunks INTEGER, broken_records INTEGER, unknown_records INTEGER,
	missing_chunks INTEGER, unreadable_files INTEGER, broken_info INTEGER);

CREATE TABLE process (
	id INTEGER PRIMARY KEY, capture INTEGER REFERENCES capture, pid INTEGER, host_pid INTEGER, parent INTEGER,
	"rank" INTEGER, start_ns INTEGER, host TEXT, executable TEXT, command TEXT, cgroup TEXT,
	cupti_version INTEGER, driver_version INTEGER, runtime_version INTEGER, cut INTEGER);

CREATE TABLE thread (
	id INTEGER PRIMARY KEY, process INTEGER REFERENCES process, tid INTEGER, name TEXT);

CREATE TABLE api (process INTEGER REFERENCES process, name TEXT, version TEXT, platform TEXT);

CREATE TABLE device (
	id INTEGER PRIMARY KEY, process INTEGER REFERENCES process, api TEXT, number INTEGER, type TEXT, name TEXT,
	uuid TEXT, pci INTEGER, multiprocessors INTEGER, memory_bytes INTEGER, compute_major INTEGER,
	compute_minor INTEGER, vendor TEXT, driver TEXT);

CREATE TABLE stream (
	id INTEGER PRIMARY KEY, process INTEGER REFERENCES process, device INTEGER REFERENCES device,
	context INTEGER, number INTEGER, priority INTEGER, name TEXT);

CREATE TABLE string (id INTEGER PRIMARY KEY, text TEXT);

CREATE TABLE frame (id INTEGER PRIMARY KEY, kind TEXT, name TEXT, module TEXT, line TEXT);

CREATE TABLE stack (
	id INTEGER PRIMARY KEY, parent INTEGER REFERENCES stack, depth INTEGER, frame INTEGER REFERENCES frame);

CREATE TABLE code (field TEXT, number INTEGER, name TEXT, PRIMARY KEY (field, number)) WITHOUT ROWID;

CREATE TABLE operation_name (id INTEGER PRIMARY KEY, kind TEXT, name TEXT, mangled TEXT);

CREATE TABLE kernel_shape (
	id INTEGER PRIMARY KEY, grid_x INTEGER, grid_y INTEGER, grid_z INTEGER, block_x INTEGER, block_y INTEGER,
	block_z INTEGER, registers INTEGER, static_shared_bytes INTEGER, dynamic_shared_bytes INTEGER,
	local_bytes INTEGER);

CREATE TABLE copy_way (
	id INTEGER PRIMARY KEY, from_place INTEGER, to_place INTEGER, pageable INTEGER, to_device INTEGER);

CREATE TABLE range (
	id INTEGER PRIMARY KEY, thread INTEGER REFERENCES thread, start_ns INTEGER, end_ns INTEGER,
	domain INTEGER REFERENCES string, text INTEGER REFERENCES string, around INTEGER REFERENCES range,
	pushed INTEGER);

CREATE TABLE mark (
	id INTEGER PRIMARY KEY, thread INTEGER REFERENCES thread, time_ns INTEGER,
	domain INTEGER REFERENCES string, text INTEGER REFERENCES string);

CREATE TABLE launch (
	id INTEGER PRIMARY KEY, thread INTEGER REFERENCES thread, start_ns INTEGER, end_ns INTEGER,
	function INTEGER REFERENCES string, stack INTEGER REFERENCES stack, correlation INTEGER);

CREATE TABLE unmatched_launch (launch INTEGER PRIMARY KEY REFERENCES launch, reason INTEGER);

CREATE TABLE operation (
	id INTEGER PRIMARY KEY, stream INTEGER REFERENCES stream, name INTEGER REFERENCES operation_name,
	start_ns INTEGER, end_ns INTEGER, launch INTEGER REFERENCES launch, stack INTEGER REFERENCES stack,
	shape INTEGER REFERENCES kernel_shape);

CREATE TABLE operation_more (
	operation INTEGER PRIMARY KEY REFERENCES operation, queued_ns INTEGER, submitted_ns INTEGER,
	items_x INTEGER, items_y INTEGER, items_z INTEGER);

CREATE TABLE call (
	id INTEGER PRIMARY KEY, thread INTEGER REFERENCES thread, start_ns INTEGER, end_ns INTEGER,
	function INTEGER REFERENCES string, stack INTEGER REFERENCES stack, correlation INTEGER, blocking INTEGER);

CREATE TABLE swapchain (
	id INTEGER PRIMARY KEY, process INTEGER REFERENCES process, time_ns INTEGER, number INTEGER, old INTEGER,
	width INTEGER, height INTEGER, images INTEGER, mode INTEGER);

CREATE TABLE present (
	id INTEGER PRIMARY KEY, thread INTEGER REFERENCES thread, start_ns INTEGER, end_ns INTEGER, swapchain INTEGER,
	number INTEGER, function INTEGER REFERENCES string, stack INTEGER REFERENCES stack, present INTEGER,
	image INTEGER, correlation INTEGER, failed INTEGER, result INTEGER);

CREATE TABLE shown (
	id INTEGER PRIMARY KEY, process INTEGER REFERENCES process, time_ns INTEGER, swapchain INTEGER, number INTEGER,
	present INTEGER, latest INTEGER);

CREATE TABLE hit (
	id INTEGER PRIMARY KEY, thread INTEGER REFERENCES thread, time_ns INTEGER, duration_ns INTEGER,
	function INTEGER REFERENCES string, stack INTEGER REFERENCES stack, number INTEGER);

CREATE TABLE sample (
	id INTEGER PRIMARY KEY, thread INTEGER REFERENCES thread, start_ns INTEGER, end_ns INTEGER,
	period_ns INTEGER, looks INTEGER, state INTEGER, file INTEGER, system_call INTEGER,
	stack INTEGER REFERENCES stack);

CREATE TABLE sync (
	id INTEGER PRIMARY KEY, process INTEGER REFERENCES process, start_ns INTEGER, end_ns INTEGER,
	correlation INTEGER, context INTEGER, stream INTEGER, kind INTEGER);

CREATE TABLE memory (
	id INTEGER PRIMARY KEY, process INTEGER REFERENCES process, device INTEGER REFERENCES device,
	time_ns INTEGER, freed INTEGER, address INTEGER, bytes INTEGER, place INTEGER);

CREATE TABLE unified_memory (
	id INTEGER PRIMARY KEY, process INTEGER REFERENCES process, start_ns INTEGER, end_ns INTEGER, kind INTEGER,
	value INTEGER, address INTEGER, from_device INTEGER, to_device INTEGER);

CREATE TABLE stall (
	id INTEGER PRIMARY KEY, process INTEGER REFERENCES process, device INTEGER REFERENCES device,
	time_ns INTEGER, name INTEGER REFERENCES string, mangled INTEGER REFERENCES string, module INTEGER,
	instruction INTEGER, file INTEGER REFERENCES string, line INTEGER, reason INTEGER REFERENCES string,
	samples INTEGER, not_issued INTEGER);

CREATE TABLE stall_total (
	id INTEGER PRIMARY KEY, process INTEGER REFERENCES process, device INTEGER REFERENCES device,
	context INTEGER, time_ns INTEGER, samples INTEGER, dropped INTEGER, other INTEGER, period_log2 INTEGER);

CREATE TABLE metric_kind (id INTEGER PRIMARY KEY, name TEXT, text TEXT, unit TEXT);

CREATE TABLE metric (
	id INTEGER PRIMARY KEY, process INTEGER REFERENCES process, device INTEGER REFERENCES device,
	start_ns INTEGER, end_ns INTEGER, kind INTEGER REFERENCES metric_kind, value REAL, weight REAL,
	operation_name INTEGER REFERENCES operation_name);

CREATE TABLE overhead (
	id INTEGER PRIMARY KEY, process INTEGER REFERENCES process, thread INTEGER REFERENCES thread,
	start_ns INTEGER, end_ns INTEGER, correlation INTEGER, kind INTEGER);

CREATE TABLE driver_event (
	id INTEGER PRIMARY KEY, capture INTEGER REFERENCES capture, time_ns INTEGER, event INTEGER REFERENCES string,
	place INTEGER REFERENCES string, context INTEGER, seqno INTEGER, arg INTEGER, arg2 INTEGER, pid INTEGER,
	comm INTEGER REFERENCES string);

CREATE TABLE alert (
	id INTEGER PRIMARY KEY, capture INTEGER REFERENCES capture, time_ns INTEGER, code INTEGER,
	device INTEGER REFERENCES string, message INTEGER REFERENCES string);

CREATE TABLE recording (
	id INTEGER PRIMARY KEY, process INTEGER REFERENCES process, time_ns INTEGER, ended INTEGER,
	operations INTEGER, cut INTEGER, reason INTEGER REFERENCES string);

CREATE TABLE note (
	id INTEGER PRIMARY KEY, process INTEGER REFERENCES process, time_ns INTEGER, flags INTEGER,
	text INTEGER REFERENCES string);

CREATE TABLE loss (
	id INTEGER PRIMARY KEY, process INTEGER REFERENCES process, time_ns INTEGER, cause INTEGER, count INTEGER);

-- Each is added when a row has another value than its default, or at the end: rows before it are smaller
-- and take less time. They are in the order of sqlite.c, the same in all databases.
ALTER TABLE launch ADD COLUMN flags INTEGER DEFAULT 0;
ALTER TABLE launch ADD COLUMN range INTEGER REFERENCES range;
ALTER TABLE launch ADD COLUMN graph INTEGER;
ALTER TABLE launch ADD COLUMN result INTEGER;
ALTER TABLE operation ADD COLUMN bytes INTEGER;
ALTER TABLE operation ADD COLUMN way INTEGER REFERENCES copy_way;
ALTER TABLE operation ADD COLUMN nth INTEGER DEFAULT 0;
ALTER TABLE operation ADD COLUMN origin INTEGER DEFAULT 0;
ALTER TABLE operation ADD COLUMN graph INTEGER;
ALTER TABLE operation ADD COLUMN graph_node INTEGER;
ALTER TABLE operation ADD COLUMN untimed INTEGER;

CREATE VIEW operations AS
SELECT o.id, s.process, p.pid, p."rank", s.device, s.number AS stream, n.kind, n.name, o.start_ns, o.end_ns,
	o.end_ns - o.start_ns AS gpu_ns, o.bytes, o.launch, t.tid, f.text AS function,
	l.start_ns AS launch_start_ns, l.end_ns AS launch_end_ns,
	CASE WHEN o.start_ns >= l.start_ns AND NOT (l.flags & 2 <> 0 AND o.nth > 0) THEN o.start_ns - l.start_ns END
		AS latency_ns,
	o.stack, c.name AS origin, u.name AS untimed
FROM operation AS o
JOIN stream AS s ON s.id = o.stream
JOIN process AS p ON p.id = s.process
JOIN operation_name AS n ON n.id = o.name
LEFT JOIN launch AS l ON l.id = o.launch
LEFT JOIN thread AS t ON t.id = l.thread
LEFT JOIN string AS f ON f.id = l.function
LEFT JOIN code AS c ON c.field = 'operation.origin' AND c.number = o.origin
LEFT JOIN code AS u ON u.field = 'operation.untimed' AND u.number = o.untimed;

CREATE VIEW kernels AS
SELECT n.kind, n.name, n.mangled, count(*) AS count, coalesce(sum(o.end_ns - o.start_ns), 0) AS gpu_ns,
	min(o.end_ns - o.start_ns) AS min_ns, max(o.end_ns - o.start_ns) AS max_ns
FROM operation AS o JOIN operation_name AS n ON n.id = o.name
GROUP BY n.id, n.kind, n.name, n.mangled;

CREATE VIEW stack_paths AS
WITH RECURSIVE path(stack, text) AS (
	SELECT s.id, f.name FROM stack AS s JOIN frame AS f ON f.id = s.frame WHERE s.parent IS NULL
	UNION ALL
	SELECT s.id, path.text || ';' || f.name
	FROM path JOIN stack AS s ON s.parent = path.stack JOIN frame AS f ON f.id = s.frame)
SELECT stack, text AS path FROM path;

CREATE VIEW call_paths AS
SELECT p.path, n.kind, n.name, o.count, o.gpu_ns
FROM (SELECT stack, name, count(*) AS count, coalesce(sum(end_ns - start_ns), 0) AS gpu_ns
	FROM operation GROUP BY stack, name) AS o
JOIN operation_name AS n ON n.id = o.name
LEFT JOIN stack_paths AS p ON p.stack = o.stack;

CREATE VIEW functions AS
WITH RECURSIVE own(stack, count, gpu_ns) AS (
	SELECT stack, count(*), coalesce(sum(end_ns - start_ns), 0) FROM operation GROUP BY stack),
up(leaf, stack) AS (
	SELECT stack, stack FROM own WHERE stack IS NOT NULL
	UNION ALL
	SELECT up.leaf, s.parent FROM up JOIN stack AS s ON s.id = up.stack WHERE s.parent IS NOT NULL)
SELECT g.name, g.module, sum(own.count) AS count, sum(own.gpu_ns) AS gpu_ns
FROM (SELECT DISTINCT up.leaf, f.name, f.module
	FROM up JOIN stack AS s ON s.id = up.stack JOIN frame AS f ON f.id = s.frame) AS g
JOIN own ON own.stack = g.leaf
GROUP BY g.name, g.module;

CREATE VIEW launch_latency AS
SELECT kind, name, count(latency_ns) AS count, sum(latency_ns) AS sum_ns, min(latency_ns) AS min_ns,
	max(latency_ns) AS max_ns
FROM operations GROUP BY kind, name;

CREATE VIEW device_times AS
SELECT d.id AS device, d.process, p.pid, p."rank", d.number, d.name, count(o.id) AS count,
	coalesce(sum(o.end_ns - o.start_ns), 0) AS gpu_ns, min(o.start_ns) AS first_ns, max(o.end_ns) AS last_ns
FROM operation AS o
JOIN stream AS s ON s.id = o.stream
JOIN device AS d ON d.id = s.device
JOIN process AS p ON p.id = d.process
GROUP BY d.id, d.process, p.pid, p."rank", d.number, d.name;

CREATE VIEW process_times AS
SELECT p.id AS process, p.pid, p."rank", p.host, p.executable, count(o.id) AS count,
	coalesce(sum(o.end_ns - o.start_ns), 0) AS gpu_ns
FROM process AS p
LEFT JOIN stream AS s ON s.process = p.id
LEFT JOIN operation AS o ON o.stream = s.id
GROUP BY p.id, p.pid, p."rank", p.host, p.executable;

-- A swapchain that takes the place of another goes on with its frames. No frame goes over presents that were lost.
CREATE VIEW frames AS
WITH RECURSIVE chain(process, number, first) AS (
	SELECT s.process, s.number, coalesce(s.old, s.number) FROM swapchain AS s
	WHERE NOT EXISTS (SELECT 1 FROM swapchain AS o WHERE o.process = s.process AND o.number = s.old)
	UNION
	SELECT s.process, s.number, c.first
	FROM chain AS c JOIN swapchain AS s ON s.process = c.process AND s.old = c.number),
ordered AS (
	SELECT p.id, t.process, t.tid, p.start_ns, p.failed, coalesce(c.first, p.swapchain) AS first,
		p.number > CASE lag(p.swapchain, 1, p.swapchain) OVER w WHEN p.swapchain
			THEN lag(p.number, 1, p.number - 1) OVER w + 1 ELSE 1 END AS lost
	FROM present AS p
	JOIN thread AS t ON t.id = p.thread
	LEFT JOIN chain AS c ON c.process = t.process AND c.number = p.swapchain
	WINDOW w AS (PARTITION BY t.process, coalesce(c.first, p.swapchain) ORDER BY p.start_ns)),
pieces AS (
	SELECT *, sum(lost) OVER (PARTITION BY process, first ORDER BY start_ns) AS piece FROM ordered)
SELECT process, tid, first AS swapchain, id AS present, begin_ns, end_ns, end_ns - begin_ns AS frame_ns
FROM (SELECT process, tid, first, id, start_ns AS end_ns,
		lag(start_ns) OVER (PARTITION BY process, first, piece ORDER BY start_ns) AS begin_ns
	FROM pieces WHERE NOT failed)
WHERE begin_ns < end_ns;

CREATE VIEW range_operations AS
WITH RECURSIVE open(launch, range) AS (
	SELECT id, range FROM launch WHERE range IS NOT NULL
	UNION ALL
	SELECT open.launch, r.around FROM open JOIN range AS r ON r.id = open.range WHERE r.around IS NOT NULL)
SELECT open.range, o.id AS operation
FROM open
JOIN range AS r ON r.id = open.range
JOIN launch AS l ON l.id = open.launch
JOIN operation AS o ON o.launch = l.id
WHERE r.end_ns IS NULL OR r.end_ns > l.start_ns;

CREATE VIEW ranges AS
SELECT d.text AS domain, t.text, r.count, r.open_ns, coalesce(w.operations, 0) AS operations,
	coalesce(w.gpu_ns, 0) AS gpu_ns
FROM (SELECT domain, text, count(*) AS count, coalesce(sum(end_ns - start_ns), 0) AS open_ns
	FROM range GROUP BY domain, text) AS r
JOIN string AS t ON t.id = r.text
LEFT JOIN string AS d ON d.id = r.domain
LEFT JOIN (SELECT domain, text, count(*) AS operations, coalesce(sum(ns), 0) AS gpu_ns
	FROM (SELECT DISTINCT r.domain, r.text, o.id, o.end_ns - o.start_ns AS ns
		FROM range_operations AS i JOIN range AS r ON r.id = i.range JOIN operation AS o ON o.id = i.operation)
		AS each_one
	GROUP BY domain, text) AS w ON w.text = r.text AND coalesce(w.domain, 0) = coalesce(r.domain, 0);

CREATE VIEW samples_by_state AS
SELECT t.process, t.tid, t.name AS thread, c.name AS state, sum(s.looks) AS looks, sum(s.looks * s.period_ns) AS ns
FROM sample AS s
JOIN thread AS t ON t.id = s.thread
LEFT JOIN code AS c ON c.field = 'sample.state' AND c.number = s.state
GROUP BY t.process, t.tid, t.name, c.name;

CREATE VIEW stalls AS
SELECT n.text AS name, m.text AS mangled, r.text AS reason, sum(s.samples) AS samples,
	sum(s.not_issued) AS not_issued
FROM stall AS s
JOIN string AS n ON n.id = s.name
JOIN string AS m ON m.id = s.mangled
JOIN string AS r ON r.id = s.reason
GROUP BY n.text, m.text, r.text;

CREATE VIEW stall_places AS
SELECT n.text AS name, m.text AS mangled, f.text AS file, s.line, s.module, s.instruction, r.text AS reason,
	sum(s.samples) AS samples, sum(s.not_issued) AS not_issued
FROM (SELECT name, mangled, file, line, CASE WHEN file IS NULL THEN module END AS module,
		CASE WHEN file IS NULL THEN instruction END AS instruction, reason, samples, not_issued
	FROM stall) AS s
JOIN string AS n ON n.id = s.name
JOIN string AS m ON m.id = s.mangled
JOIN string AS r ON r.id = s.reason
LEFT JOIN string AS f ON f.id = s.file
GROUP BY n.text, m.text, f.text, s.line, s.module, s.instruction, r.text;

CREATE VIEW metrics_by_device AS
SELECT m.process, d.number, k.name, k.text, k.unit, count(*) AS samples,
	sum(m.value * m.weight) / nullif(sum(m.weight), 0) AS mean, min(m.value) AS lowest, max(m.value) AS highest
FROM metric AS m
JOIN device AS d ON d.id = m.device
JOIN metric_kind AS k ON k.id = m.kind
GROUP BY m.process, d.number, k.name, k.text, k.unit;

CREATE VIEW metrics_by_kernel AS
SELECT n.kind, n.name, n.mangled, k.name AS metric, k.text, k.unit, count(*) AS samples,
	sum(m.value * m.weight) / nullif(sum(m.weight), 0) AS mean, min(m.value) AS lowest, max(m.value) AS highest
FROM metric AS m
JOIN operation_name AS n ON n.id = m.operation_name
JOIN metric_kind AS k ON k.id = m.kind
GROUP BY n.kind, n.name, n.mangled, k.name, k.text, k.unit;

CREATE VIEW losses AS
SELECT c.name AS cause, coalesce(sum(l.count), 0) AS count
FROM code AS c LEFT JOIN loss AS l ON l.cause = c.number WHERE c.field = 'loss.cause'
GROUP BY c.name;

CREATE VIEW launches_without_operations AS
SELECT c.name AS reason, count(*) AS count
FROM unmatched_launch AS u LEFT JOIN code AS c ON c.field = 'unmatched_launch.reason' AND c.number = u.reason
GROUP BY c.name;
