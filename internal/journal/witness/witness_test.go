package witness_test

import (
	"crypto/ed25519"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/journal/anchor"
	"callgate/internal/journal/witness"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func key(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune('a'+seed)), ed25519.SeedSize)))
}

func head(k ed25519.PrivateKey, seq uint64, hash byte) witness.Head {
	return witness.Sign(k, "b", anchor.Point{Seq: seq, Hash: [32]byte{hash}})
}

// The furthest signed head is kept, and what contradicts it is kept beside it.
func TestNote(t *testing.T) {
	t.Parallel()
	forged := head(key(0), 9, 9)
	forged.Seq = 99
	for name, tt := range map[string]struct {
		told     []witness.Head
		seq      uint64
		conflict bool
	}{
		"one":             {[]witness.Head{head(key(0), 5, 1)}, 5, false},
		"it goes on":      {[]witness.Head{head(key(0), 5, 1), head(key(0), 8, 2)}, 8, false},
		"an old one":      {[]witness.Head{head(key(0), 8, 2), head(key(0), 5, 1)}, 8, false},
		"a forged one":    {[]witness.Head{head(key(0), 5, 1), forged}, 5, false},
		"another key":     {[]witness.Head{head(key(0), 5, 1), head(key(1), 8, 2)}, 5, true},
		"two of a number": {[]witness.Head{head(key(0), 5, 1), head(key(0), 5, 2)}, 5, true},
		"the first of two stays, and it goes on": {
			[]witness.Head{head(key(0), 5, 1), head(key(0), 5, 2), head(key(0), 6, 3)}, 6, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "others")
			book, err := witness.Open(path)
			ok(t, err)
			for _, h := range tt.told {
				ok(t, book.Note(time.Unix(1, 0), []witness.Told{{Head: h, Name: "lab"}}))
			}
			again, err := witness.Open(path)
			ok(t, err)
			for _, b := range []*witness.Book{book, again} {
				s := b.All()["b"]
				if s.Seq != tt.seq || (s.Conflict != nil) != tt.conflict || s.Name != "lab" {
					t.Errorf("seen %+v", s)
				}
			}
		})
	}
}

// A book that was changed is not read: it would forget what was seen.
func TestDamaged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "others")
	changed, err := json.Marshal([]witness.Seen{{Head: witness.Head{Node: "b", Seq: 1}}})
	ok(t, err)
	for _, text := range []string{"", "{", `"x"`, string(changed)} {
		ok(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := witness.Open(path); err == nil || !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Whatever is in the file, it is read or refused; what is read is signed, and is written as it was.
func FuzzOpen(f *testing.F) {
	whole, err := json.Marshal([]witness.Seen{{Head: head(key(0), 5, 1)}})
	ok(f, err)
	f.Add(whole)
	f.Add([]byte("[]"))
	f.Add([]byte(`[{"node":"b","conflict":{}}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "others")
		ok(t, os.WriteFile(path, data, 0o600))
		book, err := witness.Open(path)
		if err != nil {
			return
		}
		for node, s := range book.All() {
			if node != s.Node || !s.Authentic() {
				t.Errorf("%q has %+v", node, s)
			}
		}
	})
}
