package undo

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// Whatever a log holds, it is read, names files of workspaces only, and is written again
// as it was read.
func FuzzParseLog(f *testing.F) {
	for _, text := range []string{
		"", "\n\n", "{", `{"begun":{"call":"c","workspace":"/w","begun":"2026-01-01T00:00:00Z","files":[{"path":"a","before":{"kind":"absent"}}]}}`,
		`{"begun":{"call":"c","workspace":"/w","files":[{"path":"../a","before":{"kind":"file"}}]}}`,
		`{"begun":{"call":"c","workspace":"/w"}}` + "\n" + `{"ended":{"call":"c","at":"2026-01-01T00:00:00Z","files":[{"path":"x","before":{"kind":"absent"},"after":{"kind":"file","ref":"00"}}]}}`,
		`{"undid":{"call":"c","calls":["d"]}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		entries := parseLog(data)
		var again []byte
		for _, e := range entries {
			for _, c := range e.Files {
				if !filepath.IsLocal(filepath.FromSlash(c.Path)) {
					t.Errorf("%q leads out of the workspace", c.Path)
				}
			}
			lines, err := e.lines()
			if err != nil {
				t.Fatal(err)
			}
			again = append(again, lines...)
		}
		want, err := json.Marshal(entries)
		if err != nil {
			t.Skip("a time that cannot be written")
		}
		got, err := json.Marshal(parseLog(again))
		if err != nil || string(got) != string(want) {
			t.Errorf("%s\nis written and read as\n%s, %v", want, got, err)
		}
	})
}

func TestLogName(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, session := range []string{"", "t1a2", "T1A2", "../../etc", "a/b", "undo", "x", ".", "a.log", string(make([]byte, 300))} {
		name := logName(session)
		if filepath.Base(name) != name || !filepath.IsLocal(name) || len(name) > 100 {
			t.Errorf("%q has the log %q", session, name)
		}
		if other, taken := seen[name]; taken {
			t.Errorf("%q and %q have one log", session, other)
		}
		seen[name] = session
	}
}
