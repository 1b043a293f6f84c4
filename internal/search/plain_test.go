//go:build !race

package search_test

import "testing"

func plainOnly(testing.TB) {}
