-- Tables as schema 1, the first version of the file, had them. Never edit: migrations are tested from here.
CREATE TABLE absence (
	target TEXT NOT NULL, 
	metric TEXT NOT NULL, 
	start_ms BIGINT NOT NULL, 
	end_ms BIGINT, 
	reason TEXT NOT NULL, 
	PRIMARY KEY (target, metric, start_ms)
);
CREATE TABLE command (
	id INTEGER NOT NULL, 
	at_ms BIGINT NOT NULL, 
	kind TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	applied_ms BIGINT, 
	error TEXT, 
	PRIMARY KEY (id)
);
CREATE TABLE commit_log (
	sequence INTEGER NOT NULL, 
	at_ms BIGINT NOT NULL, 
	first_tick BIGINT NOT NULL, 
	last_tick BIGINT NOT NULL, 
	PRIMARY KEY (sequence)
);
CREATE TABLE episode (
	deployment TEXT NOT NULL, 
	target TEXT NOT NULL, 
	engine TEXT NOT NULL, 
	start_ms BIGINT NOT NULL, 
	end_ms BIGINT NOT NULL, 
	tokens BIGINT, 
	seconds DOUBLE, 
	PRIMARY KEY (deployment, target, engine, start_ms)
);
CREATE TABLE event (
	id INTEGER NOT NULL, 
	at_ms BIGINT NOT NULL, 
	target TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	text TEXT NOT NULL, 
	labels TEXT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE fact (
	target TEXT NOT NULL, 
	name TEXT NOT NULL, 
	start_ms BIGINT NOT NULL, 
	end_ms BIGINT, 
	value TEXT NOT NULL, 
	PRIMARY KEY (target, name, start_ms)
);
CREATE TABLE hot (
	tick BIGINT NOT NULL, 
	target TEXT NOT NULL, 
	at_ms BIGINT NOT NULL, 
	layout INTEGER NOT NULL, 
	data TEXT NOT NULL, 
	PRIMARY KEY (tick, target)
);
CREATE TABLE layout (
	id INTEGER NOT NULL, 
	target TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	series_ids TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (target, digest)
);
CREATE TABLE meta (
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY ("key")
);
CREATE TABLE "offset" (
	series INTEGER NOT NULL, 
	tick BIGINT NOT NULL, 
	"offset" DOUBLE NOT NULL, 
	reason TEXT NOT NULL, 
	PRIMARY KEY (series, tick)
);
CREATE TABLE preference (
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY ("key")
);
CREATE TABLE series (
	id INTEGER NOT NULL, 
	target TEXT NOT NULL, 
	metric TEXT NOT NULL, 
	labels TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (target, metric, labels)
);
CREATE TABLE target (
	name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	url TEXT NOT NULL, 
	interval_ms INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	since_ms BIGINT NOT NULL, 
	last_ok_ms BIGINT, 
	detail TEXT NOT NULL, 
	PRIMARY KEY (name)
);
CREATE INDEX absence_end ON absence (end_ms);
CREATE INDEX command_applied ON command (applied_ms);
CREATE INDEX episode_end ON episode (deployment, end_ms);
CREATE INDEX event_at ON event (at_ms);
CREATE INDEX offset_tick ON "offset" (tick);
