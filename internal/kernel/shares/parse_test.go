package shares_test

import (
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/kernel/shares"
	"callgate/tool"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              "",
		" , ":                           "",
		"a=/srv/a":                      "a=/srv/a",
		"a=/srv/a/,b=/srv/b":            "a=/srv/a b=/srv/b",
		" a=/srv/a , b = /srv/b":        `"b = /srv/b" does not name a shared folder`,
		"a=/srv/a,b=/srv/ab":            "a=/srv/a b=/srv/ab",
		"a=/srv/a,b=/srv/a/b":           "the shared folders a and b are one, or one lies in the other",
		"a=/srv/a/b,b=/srv/a":           "the shared folders a and b are one, or one lies in the other",
		"a=/srv/a,a=/srv/b":             "the shared folders a and a are one, or one lies in the other",
		"a=/srv/a,b=/srv/x/../a":        "the shared folders a and b are one, or one lies in the other",
		"a":                             `"" is not the absolute path of a shared folder`,
		"a=srv":                         `"srv" is not the absolute path of a shared folder`,
		"a=/":                           `"/" is not the absolute path of a shared folder`,
		"a=/..":                         `"/.." is not the absolute path of a shared folder`,
		"=/srv":                         `"=/srv" does not name a shared folder`,
		strings.Repeat("a", 65) + "=/a": `does not name a shared folder`,
	} {
		all, err := shares.Parse(text)
		var got []string
		for _, s := range all {
			got = append(got, s.Name+"="+s.Path)
		}
		if err != nil && (want == "" || !strings.Contains(err.Error(), want) || tool.KindOf(err) != tool.Invalid) ||
			err == nil && strings.Join(got, " ") != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// What is accepted are folders by their one path, of which none lies in another, and it reads itself again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"a=/srv/a,b=/srv/b", "a=/srv/a,b=/srv/a/b", "a=/,b=//", "a=/x/../..", "a=/a=b", " a=/\x00 "} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := shares.Parse(text)
		var again []string
		for i, s := range all {
			if !filepath.IsAbs(s.Path) || filepath.Clean(s.Path) != s.Path || s.Path == "/" || s.Name == "" {
				t.Fatalf("%q has %+v", text, s)
			}
			for _, other := range all[:i] {
				if other.Name == s.Name || strings.HasPrefix(s.Path+"/", other.Path+"/") || strings.HasPrefix(other.Path+"/", s.Path+"/") {
					t.Fatalf("%q has %+v and %+v", text, other, s)
				}
			}
			again = append(again, s.Name+"="+s.Path+"/") // what a path ends with is its own, a space too
		}
		if err != nil && all != nil {
			t.Fatalf("%q: %+v and %v", text, all, err)
		}
		if next, err := shares.Parse(strings.Join(again, ",")); err != nil || len(next) != len(all) {
			t.Fatalf("%q became %q, which is %+v, %v", text, again, next, err)
		}
	})
}
