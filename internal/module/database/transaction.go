package database

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"callgate/internal/amount"
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
    "isolation": {"type": "string", "enum": ["read committed", "repeatable read", "serializable"],
      "description": "Default: the database's own."},
    ` + connectionArg + `,
    ` + timeoutArg + `
  },
  "required": ["statements"],
  "additionalProperties": false
}`

const transactionOutput = `{
  "type": "object",
  "properties": {
    "statements": {"type": "array",
      "description": "What each of them did: rows_affected, last_insert_id, and rows where it returned some."},
    "committed": {"type": "boolean"},
    "elapsed_ms": {"type": "number"}
  },
  "required": ["statements", "committed"]
}`

func (s *service) transactionTool() definition {
	return definition{
		Name: "transaction", Doc: transactionDoc, Input: transactionInput, Output: transactionOutput,
		Examples: []tool.Example{
			module.Example("move money, or do nothing",
				`{"statements": [{"query": "UPDATE accounts SET balance = balance - ? WHERE id = ?", "params": [50, `+
					`1]}, {"query": "UPDATE accounts SET balance = balance + ? WHERE id = ?", "params": [50, 2]}]}`),
		},
		Aliases: []string{
			"run_transaction", "atomic", "begin", "commit", "several statements in one transaction", "all or nothing",
			"run several sql statements", "exécuter une transaction", "plusieurs requêtes en une transaction", "tout ou rien",
		},
		Tags:    []string{"database", "sql", "transaction", "commit", "rollback", "atomic", "write", "base de données"},
		Runtime: writes(tool.High),
		Handler: handler(s, "transaction", transaction),
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
	ctx, done, conn, err := c.withWriter(ctx, in.connectionArgs)
	if err != nil {
		return nil, err
	}
	defer done()
	if !engine.ValidIsolation(in.Isolation) {
		return nil, tool.Errorf("", tool.Invalid, "%q is not an isolation level", tool.Truncate(in.Isolation)).
			WithHint("use read committed, repeatable read or serializable")
	}
	all := make([]engine.Statement, len(in.Statements))
	for i, s := range in.Statements {
		if all[i], err = c.change(conn, s.Query, s.Params); err == nil {
			err = controlsTransaction(conn.Engine.Info().Dialect, s.Query)
		}
		if err != nil {
			return nil, rolledBackError(i, len(all), err)
		}
	}
	start := time.Now()
	t := transactionLog{settings: c.settings, failed: -1}
	err = conn.Engine.Transact(ctx, in.Isolation, func(exec engine.ExecFunc) error { return t.run(all, exec) })
	if err != nil && t.ran && engine.IsContextEnd(err) {
		return nil, engine.Fail(tool.InDoubt, "the call ended while the transaction was being committed (%v); "+
			"its changes may or may not have been made", context.Cause(ctx)).
			WithHint("look with database.fetch_results before trying again")
	}
	if err != nil {
		return nil, rolledBackError(t.failed, len(all), withSimilarTables(ctx, conn, withCause(ctx, err)))
	}
	b := append([]byte(`{"statements":[`), t.data...)
	b = appendElapsed(append(b, `],"committed":true,`...), time.Since(start))
	return &tool.Result{
		Status: tool.Success,
		Summary: fmt.Sprintf("%scommitted %s; %s changed",
			label(conn), amount.Of(len(all), "statement"), amount.Of(int(t.changed), "row")),
		Data:    append(b, '}'),
		Content: []tool.Content{tool.Text(strings.Join(t.texts, "\n"))},
	}, nil
}

// transactionLog collects the results of the statements of a transaction.
type transactionLog struct {
	settings *settings
	data     []byte // JSON objects, separated by commas
	texts    []string
	changed  int64 // rows
	failed   int   // the index of the statement that failed, or -1
	ran      bool  // all of them: what is left is to commit
}

// run runs the statements. They share the limit of bytes of one call.
func (t *transactionLog) run(all []engine.Statement, exec engine.ExecFunc) error {
	for i, s := range all {
		out := rowset.New(rowset.Limits{
			Rows:  min(defaultRows, t.settings.MaxRows),
			Bytes: max(1024, (t.settings.MaxBytes-len(t.data))/(len(all)-i)),
		})
		done, err := exec(s, out)
		if err != nil {
			t.failed = i
			return err
		}
		t.changed += max(0, done.Affected)
		if i > 0 {
			t.data = append(t.data, ',')
		}
		t.data = append(trimComma(appendOutcome(append(t.data, '{'), done, out)), '}')
		t.texts = append(t.texts, fmt.Sprintf("%d: %s", i+1, outcomeSummary(done, out)))
		if out.HasColumns() {
			t.texts = append(t.texts, out.Table())
		}
	}
	t.ran = true
	return nil
}

func trimComma(b []byte) []byte {
	if b[len(b)-1] == ',' {
		return b[:len(b)-1]
	}
	return b
}

// controlsTransaction refuses a statement that ends the transaction, which the
// databases would obey. ROLLBACK TO a savepoint stays inside the transaction.
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
	return tool.Errorf("", tool.Invalid,
		"%s is not for a statement of a transaction: it begins and ends by itself", words[0]).
		WithHint("leave it out; to undo everything, do not send it")
}

// rolledBackError adds to an error which statement failed, and that none of them
// had an effect. An error in doubt stays as it is.
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
