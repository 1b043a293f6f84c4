package database

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
	"callgate/internal/module/database/sqltext"
	"callgate/tool"
)

//go:embed transaction.md
var transactionDoc string

const transactionInput = `{
  "type": "object",
  "properties": {
    "statements": {
      "type": "array", "minItems": 1, "maxItems": 500,
      "items": {
        "type": "object",
        "properties": {
          "query": {"type": "string", "minLength": 1, "maxLength": 200000},
          ` + paramsArg + `
        },
        "required": ["query"],
        "additionalProperties": false
      },
      "description": "What to do, in this order. BEGIN and COMMIT are not needed."
    },
    "isolation": {"type": "string", "enum": ["read committed", "repeatable read", "serializable"], "description": "Default: the database's own."},
    ` + connectionArg + `,
    ` + timeoutArg + `
  },
  "required": ["statements"],
  "additionalProperties": false
}`

const transactionOutput = `{
  "type": "object",
  "properties": {
    "statements": {"type": "array", "description": "What each of them did: rows_affected, last_insert_id, and rows where it returned some."},
    "committed": {"type": "boolean"},
    "elapsed_ms": {"type": "number"}
  },
  "required": ["statements", "committed"]
}`

func (r *connPool) transactionTool() definition {
	return definition{
		Name: "transaction", Doc: transactionDoc, Input: transactionInput, Output: transactionOutput,
		Examples: []tool.Example{
			module.Example("move money, or do nothing", `{"statements": [{"query": "UPDATE accounts SET balance = balance - ? WHERE id = ?", "params": [50, 1]}, {"query": "UPDATE accounts SET balance = balance + ? WHERE id = ?", "params": [50, 2]}]}`),
		},
		Aliases: []string{
			"run_transaction", "atomic", "begin", "commit", "several statements in one transaction", "all or nothing",
			"run several sql statements", "exécuter une transaction", "plusieurs requêtes en une transaction", "tout ou rien",
		},
		Tags:    []string{"database", "sql", "transaction", "commit", "rollback", "atomic", "write", "base de données"},
		Runtime: writes(tool.High),
		Handler: handler(r, "transaction", transaction),
	}
}

type transactionArgs struct {
	connectionArgs
	Statements []struct {
		Query  string          `json:"query"`
		Params json.RawMessage `json:"params"`
	} `json:"statements"`
	Isolation string `json:"isolation"`
}

func transaction(ctx context.Context, c *call, in transactionArgs) (*tool.Result, error) {
	ctx, done, l, err := c.write(ctx, in.connectionArgs)
	if err != nil {
		return nil, err
	}
	defer done()
	if !engine.Isolation(in.Isolation) {
		return nil, tool.Errorf("", tool.Invalid, "%q is not an isolation", tool.Truncate(in.Isolation)).WithHint("use read committed, repeatable read or serializable")
	}
	all := make([]engine.Statement, len(in.Statements))
	for i, s := range in.Statements {
		if all[i], err = statement(l, s.Query, s.Params); err == nil {
			err = controlsTransaction(l.engine.Info().Dialect, s.Query)
		}
		if err != nil {
			return nil, rolledBackError(i, len(all), err)
		}
	}
	start := time.Now()
	b := []byte(`{"statements":[`)
	var texts []string
	changed := int64(0)
	failed := -1
	err = l.engine.Transact(ctx, in.Isolation, func(do engine.ExecFunc) error {
		for i, s := range all {
			out := rowset.New(rowset.Limits{Rows: min(defaultRows, c.set.MaxRows), Bytes: max(1024, (c.set.MaxBytes-len(b))/(len(all)-i))})
			did, err := do(s, out)
			if err != nil {
				failed = i
				return err
			}
			changed += max(0, did.Affected)
			if i > 0 {
				b = append(b, ',')
			}
			b = append(trimComma(appendOutcome(append(b, '{'), did, out)), '}')
			texts = append(texts, fmt.Sprintf("%d: %s", i+1, outcomeSummary(did, out)))
			if out.HasColumns() {
				texts = append(texts, out.Table())
			}
		}
		return nil
	})
	if err != nil {
		return nil, rolledBackError(failed, len(all), withSimilarTables(ctx, l, stopped(ctx, err)))
	}
	b = append(b, `],"committed":true,"elapsed_ms":`...)
	b = strconv.AppendFloat(b, float64(time.Since(start).Microseconds())/1000, 'f', -1, 64)
	return &tool.Result{
		Status:  tool.Success,
		Summary: fmt.Sprintf("%scommitted %s; %s changed", l.name(), count(len(all), "statement"), count(int(changed), "row")),
		Data:    append(b, '}'),
		Content: []tool.Content{tool.Text(strings.Join(texts, "\n"))},
	}, nil
}

func trimComma(b []byte) []byte {
	if b[len(b)-1] == ',' {
		return b[:len(b)-1]
	}
	return b
}

// controlsTransaction refuses what would end the transaction from inside: the databases
// would obey. ROLLBACK TO a savepoint stays inside.
func controlsTransaction(d sqltext.Dialect, query string) error {
	words := make([]string, 0, 3)
	for w := range sqltext.Words(d, query) {
		if words = append(words, w); len(words) == 3 {
			break
		}
	}
	if len(words) == 0 {
		return nil
	}
	switch words[0] {
	case "BEGIN", "START", "COMMIT", "END", "ABORT":
	case "PREPARE":
		if len(words) < 2 || words[1] != "TRANSACTION" {
			return nil
		}
	case "ROLLBACK":
		if len(words) > 1 && (words[1] == "TO" || len(words) > 2 && words[2] == "TO") {
			return nil
		}
	default:
		return nil
	}
	return tool.Errorf("", tool.Invalid, "%s is not for a statement of a transaction: it begins and ends by itself", words[0]).
		WithHint("leave it out; to undo everything, do not send it")
}

// rolledBackError says which statement failed, and that none of them counts. What
// is in doubt stays so.
func rolledBackError(at, of int, err error) error {
	var e *tool.Error
	if errors.As(err, &e) && e.Kind == tool.InDoubt {
		return err
	}
	where := "the transaction could not be committed"
	if at >= 0 {
		where = fmt.Sprintf("statement %d of %d failed", at+1, of)
	}
	if e != nil {
		e.Message = where + ", and nothing was done: " + e.Message
		return e
	}
	var late timeoutError
	if errors.As(err, &late) {
		return tool.Errorf("", tool.Timeout, "%s, and nothing was done: the database took longer than %v", where, late.limit).
			WithHint("do less at a time, or give timeout_seconds up to %d", maxSeconds)
	}
	return err
}
