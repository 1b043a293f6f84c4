//go:build race

package openapi_test

import "testing"

// plainOnly leaves out what computes for long and shares nothing: make test runs it once
// more without the race detector, under which it would take ten times as long.
func plainOnly(t testing.TB) { t.Skip("the race detector is on") }
