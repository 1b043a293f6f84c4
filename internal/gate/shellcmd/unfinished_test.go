package shellcmd_test

import (
	"strings"
	"testing"

	"callgate/internal/gate/shellcmd"
)

func TestUnfinished(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "",
		"ls\n":                         "",
		"ls":                           "ls",
		"ls\nec":                       "ec",
		"ls; ec":                       "ls; ec",
		"ec\\\n":                       "ec\\\n",
		"ls\nec\\\nho\\\n":             "ec\\\nho\\\n",
		"echo a\\\\\n":                 "",
		"echo 'a\n":                    "echo 'a\n",
		"echo 'a\n#' ; ec":             "echo 'a\n#' ; ec",
		"for x in a\ndo":               "for x in a\ndo",
		"cat <<E\nx\n":                 "cat <<E\nx\n",
		"cat <<E\nx\nE\n":              "",
		"true &&\n":                    "true &&\n",
		"f('x')\ny":                    "y",
		strings.Repeat("ls\n", 10_000): shellcmd.Lost,
		shellcmd.Lost + "ls\n":         shellcmd.Lost,
	} {
		if got := shellcmd.Unfinished(text); got != want {
			t.Errorf("%.40q: %.40q, want %.40q", text, got, want)
		}
	}
	if shellcmd.Parse(shellcmd.Lost+"ls\n").Doubt == "" {
		t.Error("what is lost can be judged")
	}
}

// FuzzUnfinished: what is not finished is an end of the text, and stays so when it is asked
// again.
func FuzzUnfinished(f *testing.F) {
	for line := range tableLines(f) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rest := shellcmd.Unfinished(text)
		if rest != shellcmd.Lost && !strings.HasSuffix(text, rest) {
			t.Errorf("%q: %q", text, rest)
		}
		if !strings.HasSuffix(text, "\n") && text != "" && rest == "" {
			t.Errorf("%q ends within a line", text)
		}
		if again := shellcmd.Unfinished(rest); again != rest {
			t.Errorf("%q: %q, then %q", text, rest, again)
		}
	})
}
