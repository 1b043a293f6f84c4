package catalog

// The queries of all databases return the same columns:
//
//	tables       schema, table, kind, estimated rows, comment, qualified
//	columns      schema, table, name, type, nullable, default, generated, comment, position in the primary key
//	indexes      schema, table, name, unique, primary, columns
//	foreign keys schema, table, name, columns, other table, its columns, on delete, on update
//	checks       schema, table, text
//
// A list of columns is one JSON cell, or one row for each column.

// A query over pg_catalog must look cheap to the planner: above its limit it
// compiles the query first, which takes seconds. It expects 1,000 rows of
// generate_series and 10 of unnest.
var postgresQueries = queries{
	tables: `
SELECT n.nspname, c.relname,
       CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'partitioned table' WHEN 'v' THEN 'view'
                      WHEN 'm' THEN 'materialized view' ELSE 'foreign table' END,
       CASE WHEN c.relkind IN ('r', 'p', 'm') AND c.reltuples >= 0 THEN c.reltuples::bigint END,
       pg_catalog.obj_description(c.oid, 'pg_class'), NOT pg_catalog.pg_table_is_visible(c.oid)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
  AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
  AND (:schema::text = '' OR n.nspname = :schema::text) AND (:table::text = '' OR c.relname = :table::text)
ORDER BY 1, 2`,
	columns: `
SELECT n.nspname, c.relname, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,
       CASE WHEN a.attidentity <> '' THEN 'identity' ELSE pg_catalog.pg_get_expr(d.adbin, d.adrelid) END,
       a.attgenerated <> '' OR a.attidentity = 'a', pg_catalog.col_description(c.oid, a.attnum)
FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped
  AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
  AND (:schema::text = '' OR n.nspname = :schema::text) AND (:table::text = '' OR c.relname = :table::text)
ORDER BY 1, 2, a.attnum`,
	indexes: `
SELECT n.nspname, c.relname, i.relname, x.indisunique, x.indisprimary,
       (SELECT json_agg(COALESCE(a.attname::text, pg_catalog.pg_get_indexdef(x.indexrelid, u.place::int, true))
                        ORDER BY u.place)
        FROM unnest((x.indkey::int2[])[0 : x.indnkeyatts - 1]) WITH ORDINALITY u(num, place)
        LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = u.num AND a.attnum > 0)
FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class c ON c.oid = x.indrelid
JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
  AND (:schema::text = '' OR n.nspname = :schema::text) AND (:table::text = '' OR c.relname = :table::text)
ORDER BY 1, 2, 3`,
	foreignKeys: `
SELECT n.nspname, c.relname, k.conname,
       (SELECT json_agg(a.attname ORDER BY u.place) FROM unnest(k.conkey) WITH ORDINALITY u(num, place)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.num),
       CASE WHEN pg_catalog.pg_table_is_visible(r.oid) THEN r.relname ELSE rn.nspname || '.' || r.relname END,
       (SELECT json_agg(a.attname ORDER BY u.place) FROM unnest(k.confkey) WITH ORDINALITY u(num, place)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.num),
       CASE k.confdeltype WHEN 'c' THEN 'cascade' WHEN 'n' THEN 'set null'
                          WHEN 'd' THEN 'set default' ELSE 'no action' END,
       CASE k.confupdtype WHEN 'c' THEN 'cascade' WHEN 'n' THEN 'set null'
                          WHEN 'd' THEN 'set default' ELSE 'no action' END
FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_class r ON r.oid = k.confrelid JOIN pg_catalog.pg_namespace rn ON rn.oid = r.relnamespace
WHERE k.contype = 'f' AND k.conparentid = 0
  AND (:schema::text = '' OR n.nspname = :schema::text) AND (:table::text = '' OR c.relname = :table::text)
ORDER BY 1, 2, 3`,
	checks: `
SELECT n.nspname, c.relname, pg_catalog.pg_get_constraintdef(k.oid, true)
FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype IN ('c', 'x') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
  AND (:schema::text = '' OR n.nspname = :schema::text) AND (:table::text = '' OR c.relname = :table::text)
ORDER BY 1, 2, k.conname`,
}

var mysqlQueries = queries{
	tables: `
SELECT table_schema, table_name, CASE table_type WHEN 'BASE TABLE' THEN 'table' ELSE LOWER(table_type) END, table_rows,
       NULLIF(table_comment, 'VIEW'), table_schema <> COALESCE(DATABASE(), '')
FROM information_schema.tables
WHERE table_schema = COALESCE(NULLIF(:schema, ''), DATABASE()) AND (:table = '' OR table_name = :table)
ORDER BY 1, 2`,
	columns: `
SELECT table_schema, table_name, column_name, column_type, is_nullable,
       CASE WHEN extra LIKE '%auto_increment%' THEN 'auto_increment' ELSE column_default END,
       extra LIKE '%GENERATED%' AND extra NOT LIKE '%DEFAULT_GENERATED%', column_comment
FROM information_schema.columns
WHERE table_schema = COALESCE(NULLIF(:schema, ''), DATABASE()) AND (:table = '' OR table_name = :table)
ORDER BY 1, 2, ordinal_position`,
	indexes: `
SELECT table_schema, table_name, index_name, non_unique = 0, index_name = 'PRIMARY', column_name
FROM information_schema.statistics
WHERE table_schema = COALESCE(NULLIF(:schema, ''), DATABASE()) AND (:table = '' OR table_name = :table)
ORDER BY 1, 2, 3, seq_in_index`,
	foreignKeys: `
SELECT k.table_schema, k.table_name, k.constraint_name, k.column_name,
       CASE WHEN k.referenced_table_schema = k.table_schema THEN k.referenced_table_name
            ELSE CONCAT(k.referenced_table_schema, '.', k.referenced_table_name) END,
       k.referenced_column_name, r.delete_rule, r.update_rule
FROM information_schema.key_column_usage k
JOIN information_schema.referential_constraints r
  ON r.constraint_schema = k.constraint_schema AND r.constraint_name = k.constraint_name AND r.table_name = k.table_name
WHERE k.referenced_table_name IS NOT NULL
  AND k.table_schema = COALESCE(NULLIF(:schema, ''), DATABASE()) AND (:table = '' OR k.table_name = :table)
ORDER BY 1, 2, 3, k.ordinal_position`,
}

// A schema in SQLite is an attached file, and a connection has none.
var sqliteQueries = queries{
	tables: `
SELECT '', l.name, CASE l.type WHEN 'virtual' THEN 'virtual table' ELSE l.type END, NULL, NULL, 0
FROM pragma_table_list l
WHERE l.schema = 'main' AND l.type IN ('table', 'view', 'virtual') AND substr(l.name, 1, 7) <> 'sqlite_'
  AND :schema IN ('', 'main') AND (:table = '' OR l.name = :table)
ORDER BY 2`,
	columns: `
SELECT '', l.name, c.name, lower(c.type), c."notnull" = 0 AND NOT (c.pk > 0 AND lower(c.type) = 'integer'),
       c.dflt_value, c.hidden IN (2, 3), NULL, c.pk
FROM pragma_table_list l JOIN pragma_table_xinfo(l.name) c
WHERE l.schema = 'main' AND l.type IN ('table', 'view', 'virtual') AND c.hidden <> 1
  AND :schema IN ('', 'main') AND (:table = '' OR l.name = :table)
ORDER BY 2, c.cid`,
	indexes: `
SELECT '', l.name, i.name, i."unique", 0, COALESCE(c.name, '(expression)')
FROM pragma_table_list l JOIN pragma_index_list(l.name) i JOIN pragma_index_xinfo(i.name) c
WHERE l.schema = 'main' AND l.type = 'table' AND i.origin <> 'pk' AND c.key = 1
  AND :schema IN ('', 'main') AND (:table = '' OR l.name = :table)
ORDER BY 2, i.name, c.seqno`,
	foreignKeys: `
SELECT '', l.name, l.name || '_fk' || f.id, f."from", f."table", f."to", f.on_delete, f.on_update
FROM pragma_table_list l JOIN pragma_foreign_key_list(l.name) f
WHERE l.schema = 'main' AND l.type = 'table'
  AND :schema IN ('', 'main') AND (:table = '' OR l.name = :table)
ORDER BY 2, f.id, f.seq`,
}
