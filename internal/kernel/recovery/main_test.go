package recovery_test

import (
	"testing"

	"callgate/internal/kernel/kerneltest"
)

func TestMain(m *testing.M) {
	kerneltest.Main(m, map[string]func(string){churnVariable: churn, cutVariable: cut})
}

var (
	ok    = kerneltest.OK
	write = kerneltest.Write
)
