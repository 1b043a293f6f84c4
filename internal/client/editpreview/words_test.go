package editpreview

import (
	"strings"
	"testing"

	"callgate/internal/protocol"
	"callgate/tool"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, tool, args, want string }{
		{"a mail", "email.send", `{"to":["Ann <a@x.example>","b@x.example"],"bcc":["c@x.example"],"subject":"Hi","body":"one\r\ntwo\n",` +
			`"attachments":["a.pdf"],"deliver":"send"}`,
			"A mail that is sent at once.||To: Ann <a@x.example>, b@x.example|Bcc: c@x.example|Subject: Hi|Attached: a.pdf||one|two"},
		{"a draft", "email.send", `{"to":["a@x.example"],"subject":"Hi","body":"x"}`,
			"A draft: it is saved, and nobody receives it.||To: a@x.example|Subject: Hi||x"},
		{"what would look like a field", "email.send", `{"to":["a@x.example"],"subject":"Hi\nTo: b","body":"x"}`,
			"A draft: it is saved, and nobody receives it.||To: a@x.example|Subject: Hi␊To: b||x"},
		{"another tool", "email.check", `{}`, ""},
		{"no arguments of its", "email.send", `[]`, ""},
	} {
		namespace, name, _ := strings.Cut(c.tool, ".")
		r := protocol.Approval{Call: tool.Call{Tool: tool.ID{Namespace: namespace, Name: name}, Args: []byte(c.args)}}
		if got := strings.Join(Words(r), "|"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if lines := Lines(r, nil); len(lines) != len(Words(r)) || Changes(r) != (c.want != "") {
			t.Errorf("%s: %v", c.name, lines)
		}
	}
}
