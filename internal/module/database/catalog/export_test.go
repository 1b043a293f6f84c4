package catalog

import (
	"strings"
	"testing"

	"callgate/internal/module/database/engine"
	"callgate/internal/module/database/rowset"
)

// IndexQueryCost returns what the planner expects the query for indexes to cost.
func IndexQueryCost(t testing.TB, e engine.Engine, table string) float64 {
	t.Helper()
	sql := strings.NewReplacer(":schema::text", "''", ":table::text", "'"+table+"'").Replace(postgresQueries.indexes)
	out := rowset.New(rowset.Limits{})
	if err := e.Read(t.Context(), engine.Statement{SQL: "EXPLAIN (FORMAT JSON) " + sql}, out); err != nil {
		t.Fatal(err)
	}
	cost := 0.0
	err := out.Scan(func(cells []any) error {
		plans := cells[0].([]any)
		plan := plans[0].(map[string]any)["Plan"].(map[string]any)
		var err error
		cost, err = plan["Total Cost"].(interface{ Float64() (float64, error) }).Float64()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return cost
}
