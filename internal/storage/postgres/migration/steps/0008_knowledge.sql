-- This step only adds.
-- Knowledge bases of apps that are one at all nodes; package sharedbases states the law. Names and texts are bytea, as
-- elsewhere. What is counted of a base is written with each change of it.
CREATE TABLE rag_bases (
	id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	owner       bytea NOT NULL,
	name        bytea NOT NULL,
	description bytea NOT NULL,
	model       bytea NOT NULL,
	created     bigint NOT NULL,
	version     bigint NOT NULL DEFAULT 1,
	next_chunk  bigint NOT NULL DEFAULT 1,
	documents   bigint NOT NULL DEFAULT 0,
	chunks      bigint NOT NULL DEFAULT 0,
	bytes       bigint NOT NULL DEFAULT 0,
	UNIQUE (owner, name)
) WITH (fillfactor = 50);

-- A document that has no first chunk is of an ingestion that has not ended, and nobody reads it.
CREATE SEQUENCE rag_document_ids;
CREATE TABLE rag_documents (
	id          bigint PRIMARY KEY,
	base        bigint NOT NULL REFERENCES rag_bases ON DELETE CASCADE,
	ingestion   bytea,
	staged      timestamptz NOT NULL DEFAULT now(),
	first_chunk bigint,
	name        bytea NOT NULL,
	origin      bytea NOT NULL,
	title       bytea NOT NULL,
	format      bytea NOT NULL,
	hash        bytea NOT NULL,
	bytes       bigint NOT NULL,
	ingested    bigint NOT NULL,
	chunks      bigint NOT NULL,
	CHECK ((ingestion IS NULL) = (first_chunk IS NOT NULL))
);
CREATE INDEX rag_documents_base ON rag_documents (base, first_chunk);
CREATE UNIQUE INDEX rag_documents_name ON rag_documents (base, sha256(name)) WHERE first_chunk IS NOT NULL;
CREATE INDEX rag_documents_staged ON rag_documents (ingestion) WHERE ingestion IS NOT NULL;

CREATE TABLE rag_chunks (
	document bigint NOT NULL REFERENCES rag_documents ON DELETE CASCADE,
	n        bigint NOT NULL,
	headings bytea NOT NULL,
	part     bytea NOT NULL,
	unit     bytea NOT NULL,
	first    bigint NOT NULL,
	last     bigint NOT NULL,
	text     bytea NOT NULL,
	vector   bytea,
	PRIMARY KEY (document, n)
);
