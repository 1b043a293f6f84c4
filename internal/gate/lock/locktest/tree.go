package locktest

import (
	"strings"
	"testing"

	"callgate/tool"
)

func modesFollowTheMatrix(t *testing.T, open func(t *testing.T) Locks) {
	locks := open(t)
	for _, mode := range Modes {
		release := acquire(t, locks, mode+" file:/a")
		if got := passing(t, locks, "file:/a"); got != Matrix[mode] {
			t.Errorf("beside %s pass %q, want %q", mode, got, Matrix[mode])
		}
		release()
		want(t, locks, " | ")
	}
}

// One request holds held; the test asks which modes another may have elsewhere.
func locksCoverTheTree(t *testing.T, open func(t *testing.T) Locks) {
	const all = "IS IX S U X"
	tests := []struct{ name, held, resource, pass string }{
		{"X closes the nodes below", "X file:/a", "file:/a/b/c", ""},
		{"U below lets readers pass", "U file:/a", "file:/a/b/c", "IS S"},
		{"S below lets readers pass", "S file:/a", "file:/a/b/c", "IS S"},
		{"IX leaves the nodes below open", "IX file:/a", "file:/a/b", all},
		{"IS leaves the nodes below open", "IS file:/a", "file:/a/b", all},
		{"X is an IX above", "X file:/a/b/c", "file:/a", "IS IX"},
		{"U is an IX above", "U file:/a/b/c", "file:/a", "IS IX"},
		{"IX is an IX above", "IX file:/a/b/c", "file:/a", "IS IX"},
		{"S is an IS above", "S file:/a/b/c", "file:/a", "IS IX S U"},
		{"IS is an IS above", "IS file:/a/b/c", "file:/a", "IS IX S U"},
		{"siblings are apart", "X file:/a/b", "file:/a/c", all},
		{"a longer name is another node", "X file:/a", "file:/ab", all},
		{"the root of a kind is above all of it", "X file:/a", "file:", "IS IX"},
		{"the root closes all of its kind", "X file:", "file:/a/b", ""},
		{"kinds are apart", "X file:", "db:main", all},
		{"a trailing slash is ignored", "X file:/a/b/", "file:/a/b", ""},
		{"empty parts are ignored", "X file://a///b", "file:/a/b", ""},
		{"no leading slash is needed", "X file:a/b", "file:/a/b", ""},
		{"slashes alone are the root", "X file:///", "file:", ""},
		{"a colon does not split", "X file:C:/a", "file:C:", "IS IX"},
		{"a dot does not split", "X file:/a", "file:/a.b", all},
		{"a backslash does not split", `X file:/a`, `file:/a\b`, all},
		{"plain names", "X browser_tab:3", "browser_tab:31", all},
		{"plain names meet", "X db:main", "db:main", ""},
	}
	locks := open(t)
	for _, test := range tests {
		release := acquire(t, locks, test.held)
		if got := passing(t, locks, test.resource); got != test.pass {
			t.Errorf("%s: beside %s pass %q on %s, want %q", test.name, test.held, got, test.resource, test.pass)
		}
		release()
	}
	want(t, locks, " | ")
}

// Claims of one request that meet at a node together exclude what each excludes alone, in any order.
func claimsJoin(t *testing.T, open func(t *testing.T) Locks) {
	locks := open(t)
	for _, a := range Modes {
		for _, b := range Modes {
			var pass []string
			for _, mode := range Modes {
				if Has(Matrix[a], mode) && Has(Matrix[b], mode) {
					pass = append(pass, mode)
				}
			}
			release := acquire(t, locks, a+" file:/a, "+b+" file:/a/")
			if got := passing(t, locks, "file:/a"); got != strings.Join(pass, " ") {
				t.Errorf("beside %s and %s pass %q, want %q", a, b, got, pass)
			}
			release()
		}
	}
	want(t, locks, " | ")
}

func folderAndFile(t *testing.T, open func(t *testing.T) Locks) {
	locks := open(t)
	release := acquire(t, locks, "S file:/w, X file:/w/a")
	for text, want := range map[string]bool{
		"S file:/w":   false, // would read a while it changes
		"U file:/w":   false,
		"S file:/w/a": false,
		"X file:/w/b": false, // would change what the first reads
		"S file:/w/b": true,
		"IS file:/w":  true,
		"X file:/v":   true,
	} {
		if got := passes(t, locks, Claims(text)); got != want {
			t.Errorf("%s passes: %v, want %v", text, got, want)
		}
	}
	release()
	want(t, locks, " | ")
}

// Resources are made of what others name: any bytes.
func namesAreBytes(t *testing.T, open func(t *testing.T) Locks) {
	locks := open(t)
	names := []string{"file:\x00", "file:\xff", "file:\xff\x00", "file:é", "file:e\u0301", "f\x00le:a", "FILE:a"}
	for _, name := range names {
		release := acquire(t, locks, "X "+name)
		for _, other := range names {
			if got := passes(t, locks, []tool.Claim{{Resource: other, Mode: tool.S}}); got == (name == other) {
				t.Errorf("beside %q passes %q: %v", name, other, got)
			}
		}
		release()
	}
	want(t, locks, " | ")
}

// A path may be too long for whoever keeps it. What conflicts by the law conflicts then, too.
func longPaths(t *testing.T, open func(t *testing.T) Locks) {
	locks := open(t)
	deep, wide := "file:"+strings.Repeat("/part", 500), "file:/"+strings.Repeat("w", 3000)
	for _, one := range []string{deep, deep + "/x"} {
		for _, mode := range Modes {
			held := []tool.Claim{{Resource: one, Mode: tool.S}}
			_ = held[0].Mode.UnmarshalText([]byte(mode))
			release := acquire(t, locks, mode+" "+one)
			for _, other := range []string{deep + "/y", "file:/part"} {
				for m := tool.IS; m <= tool.X; m++ {
					claim := []tool.Claim{{Resource: other, Mode: m}}
					if passes(t, locks, claim) && Conflicts(held, claim) {
						t.Errorf("beside %s on %.20s passes %s on %.20s", mode, one, m, other)
					}
				}
			}
			release()
		}
	}
	release := acquire(t, locks, "X "+wide)
	if !passes(t, locks, Claims("X db:main")) {
		t.Error("a long path closed another kind")
	}
	release()
}
