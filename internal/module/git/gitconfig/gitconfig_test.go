package gitconfig_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/git/gitconfig"
)

var samples = map[string]string{
	"empty":            "",
	"plain":            "[user]\n\tname = A B\n\temail=a@b\n",
	"comments":         "# one\n[core] ; two\n\tbare = false # three\n;four\n",
	"no value":         "[core]\n\tbare\n\tsymlinks \n",
	"quotes":           "[a]\n\tb = \" x \\\"y\\\" \" z  ; end\n",
	"escapes":          "[a]\n\tb = one\\ttwo\\nthree\\\\\n",
	"continued":        "[a]\n\tb = one \\\n  two\n\tc = 3\n",
	"subsections":      "[remote \"o \\\"x\\\\\"]\n\turl = u\n[branch.Old]\n\tmerge = m\n",
	"case":             "[CORE]\n\tFileMode = TRUE\n[Remote \"Up\"]\n\tURL = X\n",
	"on one line":      "[a] b = c\n",
	"carriage returns": "[a]\r\n\tb = c\r\n",
	"byte order mark":  "\xef\xbb\xbf[a]\n\tb = c\n",
	"hash in quotes":   "[a]\n\tb = \"x#y\" ; z\n",
	"inner space":      "[a]\n\tb = x   y   \n",
	"empty value":      "[a]\n\tb =\n\tc = \"\"\n",
}

// TestLikeGit holds the parser against Git's own.
func TestLikeGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed: apt-get install git")
	}
	for name, text := range samples {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(git, "config", "--file", path, "--list", "-z").Output()
			if err != nil {
				t.Fatal(err)
			}
			entries, err := gitconfig.Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			want, got := []string{}, []string{}
			for record := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
				if record == "" {
					continue
				}
				key, value, ok := strings.Cut(record, "\n")
				if !ok {
					value = "true"
				}
				want = append(want, key+"="+value)
			}
			for _, e := range entries {
				got = append(got, e.Key()+"="+e.Value)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no section":          "a = b\n",
		"open header":         "[core\n",
		"open subsection":     "[a \"b\n\tc = d\n",
		"bare subsection":     "[a b]\n",
		"text after it":       "[a \"b\" c]\n",
		"bad name":            "[a]\n\t1b = c\n",
		"comment, no value":   "[a]\n\tb ; c\n",
		"no equals sign":      "[a]\n\tb c\n",
		"open quotes":         "[a]\n\tb = \"c\n",
		"bad escape":          "[a]\n\tb = \\q\n",
		"escape at the end":   "[a]\n\tb = \\",
		"nameless section":    "[]\n",
		"section of one dot":  "[.x]\n\ta = b\n",
		"backslash, no quote": "[a \"b\\\n\"]\n",
	} {
		if got, err := gitconfig.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range samples {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := gitconfig.Parse(data)
		if err != nil {
			return
		}
		var writable []gitconfig.Entry
		for _, e := range entries {
			if e.Writable() {
				writable = append(writable, e)
			}
		}
		back, err := gitconfig.Parse(gitconfig.Format(entries))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, gitconfig.Format(entries))
		}
		if diff := cmp.Diff(writable, back); diff != "" {
			t.Error(diff)
		}
	})
}
