package mysql

import (
	"database/sql/driver"
	"strings"
	"time"

	"callgate/internal/module/database/rowset"
)

// cellWriter writes one cell.
type cellWriter func(*rowset.Writer, driver.Value)

// columns tells the writer what columns there are, and how each is written.
func columns(names, types []string, out *rowset.Writer) []cellWriter {
	all := make([]rowset.Column, len(names))
	puts := make([]cellWriter, len(names))
	for i, name := range names {
		all[i] = rowset.Column{Name: name, Type: strings.ToLower(types[i])}
		puts[i] = putter(types[i])
	}
	out.Columns(all)
	return puts
}

// putter writes values of a type. The driver gives most of them as the bytes
// that the server sent.
func putter(kind string) cellWriter {
	var bytes func(*rowset.Writer, []byte)
	switch kind {
	case "BLOB", "TINYBLOB", "MEDIUMBLOB", "LONGBLOB", "BINARY", "VARBINARY", "BIT", "GEOMETRY", "VECTOR":
		bytes = (*rowset.Writer).Blob
	case "JSON":
		bytes = (*rowset.Writer).JSON
	case "DATETIME", "TIMESTAMP":
		bytes = (*rowset.Writer).Stamp
	case "BIGINT", "UNSIGNED BIGINT", "INT", "UNSIGNED INT", "MEDIUMINT", "SMALLINT", "TINYINT", "FLOAT", "DOUBLE", "YEAR":
		bytes = (*rowset.Writer).Number
	default:
		bytes = (*rowset.Writer).Bytes
	}
	return func(w *rowset.Writer, v driver.Value) {
		switch v := v.(type) {
		case nil:
			w.Null()
		case []byte:
			bytes(w, v)
		case int64:
			w.Int(v)
		case uint64:
			w.Uint(v)
		case float64:
			w.Float(v)
		case float32:
			w.Float32(v)
		case string:
			w.Text(v)
		case time.Time:
			w.Time(v)
		default:
			w.Text(text(v))
		}
	}
}
