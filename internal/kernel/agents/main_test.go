package agents_test

import (
	"testing"

	"callgate/internal/kernel/kerneltest"
)

func TestMain(m *testing.M) {
	kerneltest.Main(m, map[string]func(string){doomedVar: playDoomed, treeVariable: growTree})
}
