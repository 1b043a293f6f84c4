//go:build !race

package openapi_test

import "testing"

func plainOnly(testing.TB) {}
