package mysql

import (
	"database/sql/driver"
	"strings"
	"time"

	"callgate/internal/module/database/rowset"
)

// cellWriter writes one cell.
type cellWriter func(*rowset.Row, driver.Value)

// setColumns gives the writer its columns and returns what writes each of them.
func setColumns(names, types []string, out *rowset.Writer) []cellWriter {
	all := make([]rowset.Column, len(names))
	writers := make([]cellWriter, len(names))
	for i, name := range names {
		all[i] = rowset.Column{Name: name, Type: strings.ToLower(types[i])}
		writers[i] = writerFor(types[i])
	}
	out.Columns(all)
	return writers
}

// writerFor returns what writes the values of a type. The driver returns most of
// them as the bytes that the server sent.
func writerFor(kind string) cellWriter {
	var bytes func(*rowset.Row, []byte)
	switch kind {
	case "BLOB", "TINYBLOB", "MEDIUMBLOB", "LONGBLOB", "BINARY", "VARBINARY", "BIT", "GEOMETRY", "VECTOR":
		bytes = (*rowset.Row).Blob
	case "JSON":
		bytes = (*rowset.Row).JSON
	case "DATETIME", "TIMESTAMP":
		bytes = (*rowset.Row).Stamp
	case "BIGINT", "UNSIGNED BIGINT", "INT", "UNSIGNED INT", "MEDIUMINT", "SMALLINT", "TINYINT",
		"FLOAT", "DOUBLE", "YEAR":
		bytes = (*rowset.Row).Number
	default:
		bytes = (*rowset.Row).Bytes
	}
	return func(row *rowset.Row, v driver.Value) {
		switch v := v.(type) {
		case nil:
			row.Null()
		case []byte:
			bytes(row, v)
		case int64:
			row.Int(v)
		case uint64:
			row.Uint(v)
		case float64:
			row.Float(v)
		case float32:
			row.Float32(v)
		case string:
			row.Text(v)
		case time.Time:
			row.Time(v)
		default:
			row.Text(text(v))
		}
	}
}
