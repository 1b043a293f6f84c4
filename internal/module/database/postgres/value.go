package postgres

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/tool"
)

// cellWriter writes one cell that is not NULL, from the text that the server sent.
type cellWriter func(*rowset.Row, []byte)

// setColumns gives the writer its columns and returns what writes each of them.
func setColumns(fields []pgconn.FieldDescription, known map[uint32]string, out *rowset.Writer) []cellWriter {
	if len(fields) == 0 {
		return nil
	}
	all := make([]rowset.Column, len(fields))
	writers := make([]cellWriter, len(fields))
	for i, f := range fields {
		name, write := builtin(f.DataTypeOID)
		if name == "" {
			name = known[f.DataTypeOID]
		}
		all[i], writers[i] = rowset.Column{Name: f.Name, Type: name}, write
	}
	out.Columns(all)
	return writers
}

// builtin returns the name of a built-in type, or "", and what writes its values.
func builtin(oid uint32) (string, cellWriter) {
	text := (*rowset.Row).Bytes
	switch oid {
	case pgtype.BoolOID:
		return "boolean", func(row *rowset.Row, b []byte) { row.Bool(len(b) == 1 && b[0] == 't') }
	case pgtype.Int2OID:
		return "smallint", (*rowset.Row).Number
	case pgtype.Int4OID:
		return "integer", (*rowset.Row).Number
	case pgtype.Int8OID:
		return "bigint", (*rowset.Row).Number
	case pgtype.OIDOID:
		return "oid", (*rowset.Row).Number
	case pgtype.Float4OID:
		return "real", (*rowset.Row).Number
	case pgtype.Float8OID:
		return "double precision", (*rowset.Row).Number
	case pgtype.NumericOID:
		return "numeric", text
	case pgtype.TextOID:
		return "text", text
	case pgtype.VarcharOID:
		return "varchar", text
	case pgtype.BPCharOID:
		return "char", text
	case pgtype.NameOID:
		return "name", text
	case pgtype.UUIDOID:
		return "uuid", text
	case pgtype.DateOID:
		return "date", text
	case pgtype.TimestampOID:
		return "timestamp", (*rowset.Row).Stamp
	case pgtype.TimestamptzOID:
		return "timestamptz", (*rowset.Row).Stamp
	case pgtype.JSONOID:
		return "json", (*rowset.Row).JSON
	case pgtype.JSONBOID:
		return "jsonb", (*rowset.Row).JSON
	case pgtype.ByteaOID:
		return "bytea", blob
	default:
		return "", text
	}
}

// blob writes bytea, which the server sends as \x and hexadecimal digits.
func blob(row *rowset.Row, b []byte) {
	digits, ok := bytes.CutPrefix(b, []byte(`\x`))
	raw := make([]byte, hex.DecodedLen(len(digits)))
	if _, err := hex.Decode(raw, digits); err != nil || !ok {
		row.Bytes(b)
		return
	}
	row.Blob(raw)
}

// nameTypes asks the server for the names of types that are not built in. A name
// that stays unknown is not an error.
func (c *conn) nameTypes(ctx context.Context, fields []pgconn.FieldDescription, out *rowset.Writer) {
	var unknown []string
	for _, f := range fields {
		if name, _ := builtin(f.DataTypeOID); name == "" && c.types[f.DataTypeOID] == "" {
			unknown = append(unknown, strconv.FormatUint(uint64(f.DataTypeOID), 10))
		}
	}
	if len(unknown) == 0 || c.pg.TxStatus() == 'E' {
		return
	}
	const names = "SELECT oid, pg_catalog.format_type(oid, NULL) FROM pg_catalog.pg_type WHERE oid = ANY($1::oid[])"
	oids := [][]byte{[]byte("{" + strings.Join(unknown, ",") + "}")}
	found := c.pg.ExecParams(ctx, names, oids, nil, nil, nil).Read()
	for _, row := range found.Rows {
		if oid, err := strconv.ParseUint(string(row[0]), 10, 32); err == nil {
			c.types[uint32(oid)] = string(row[1])
		}
	}
	for i, f := range fields {
		if name := c.types[f.DataTypeOID]; name != "" {
			out.SetType(i, name)
		}
	}
}

// values formats the values of a statement as texts, which the server parses by
// the type of the placeholder. A list becomes an array unless the placeholder is
// JSON; only the server knows which, so values asks it.
func (c *conn) values(ctx context.Context, s engine.Statement) ([][]byte, error) {
	values := make([][]byte, len(s.Args))
	var wanted []uint32
	for i, v := range s.Args {
		if list, ok := v.(json.RawMessage); ok && len(list) > 0 && list[0] == '[' {
			if wanted == nil {
				d, err := c.pg.Prepare(ctx, "", s.SQL, nil)
				if err != nil {
					return nil, c.convertError(ctx, false, err)
				}
				wanted = d.ParamOIDs
			}
			if oid := wanted[i]; oid != pgtype.JSONOID && oid != pgtype.JSONBOID {
				array, err := arrayText(list)
				if err != nil {
					return nil, engine.Fail(tool.Invalid, "the value %d is not an array: %w", i+1, err)
				}
				values[i] = array
				continue
			}
		}
		values[i] = valueText(v)
	}
	return values, nil
}

// valueText formats a value as a text; nil is NULL.
func valueText(v any) []byte {
	switch v := v.(type) {
	case nil:
		return nil
	case bool:
		return strconv.AppendBool(nil, v)
	case string:
		return []byte(v) // never nil, even if empty: nil is NULL
	case json.Number:
		return []byte(v)
	case json.RawMessage:
		return v
	case []byte:
		return append([]byte(`\x`), hex.EncodeToString(v)...)
	default:
		return fmt.Append(nil, v)
	}
}

// arrayText formats a JSON list as an array: {1,"a",NULL,{…}}.
func arrayText(list json.RawMessage) ([]byte, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(list, &items); err != nil {
		return nil, err
	}
	b := []byte{'{'}
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		switch item[0] {
		case '[':
			inner, err := arrayText(item)
			if err != nil {
				return nil, err
			}
			b = append(b, inner...)
		case 'n':
			b = append(b, "NULL"...)
		case '"':
			var text string
			if err := json.Unmarshal(item, &text); err != nil {
				return nil, err
			}
			b = appendElement(b, text)
		default:
			b = appendElement(b, string(item))
		}
	}
	return append(b, '}'), nil
}

func appendElement(b []byte, text string) []byte {
	b = append(b, '"')
	for i := range len(text) {
		if text[i] == '"' || text[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, text[i])
	}
	return append(b, '"')
}

// copyRow writes one row in the text format of COPY.
func copyRow(b *bytes.Buffer, row []any) {
	for i, v := range row {
		if i > 0 {
			b.WriteByte('\t')
		}
		text := valueText(v)
		if text == nil {
			b.WriteString(`\N`)
			continue
		}
		for _, c := range text {
			switch c {
			case '\\':
				b.WriteString(`\\`)
			case '\n':
				b.WriteString(`\n`)
			case '\r':
				b.WriteString(`\r`)
			case '\t':
				b.WriteString(`\t`)
			default:
				b.WriteByte(c)
			}
		}
	}
	b.WriteByte('\n')
}
