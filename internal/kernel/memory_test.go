package kernel_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/kerneltest"
)

// What an agent remembers is in the kernel's documents and survives it, with what
// an earlier version kept in files.
func TestMemoryIsKeptInDocuments(t *testing.T) {
	kerneltest.OnEachStorage(t, testMemoryIsKeptInDocuments)
}

func testMemoryIsKeptInDocuments(t *testing.T) {
	t.Parallel()
	state, workspace := kerneltest.StateDir(t), t.TempDir()
	k := kerneltest.Open(t, state)
	by := kerneltest.OpenSession(t, k, workspace).Principal()
	ok(t, k.Close())

	sum := sha256.Sum256([]byte(by.User + "\x00" + by.App))
	folder := filepath.Join(state, "modules", "memory")
	write(t, filepath.Join(folder, hex.EncodeToString(sum[:12]), "knowledge.jsonl"), fmt.Sprintf(
		`{"memory":1,"book":{"user":%q,"app":%q,"knowledge":true}}`+"\n"+
			`{"put":[{"id":"k1","kind":"knowledge","key":"old/key","text":"of an earlier version","seq":1,`+
			`"made":"2026-01-01T00:00:00Z","changed":"2026-01-01T00:00:00Z"}]}`+"\n", by.User, by.App))

	k = kerneltest.Open(t, state)
	s := kerneltest.OpenSession(t, k, workspace)
	if r := kerneltest.Call(t, s, "memory.upsert", `{"key": "new/key", "content": "of this version"}`); r.Error != nil {
		t.Fatal(r.Error)
	}
	ok(t, k.Close())
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder of files is still there: %v", err)
	}

	k = kerneltest.Open(t, state)
	s = kerneltest.OpenSession(t, k, workspace)
	r := kerneltest.Call(t, s, "memory.query", `{"mode": "range", "tiers": ["knowledge"]}`)
	for _, want := range []string{`"k1"`, "of an earlier version", `"k2"`, "of this version"} {
		if r.Error != nil || !strings.Contains(string(r.Data), want) {
			t.Errorf("%s is missing in %s (%v)", want, r.Data, r.Error)
		}
	}
}
