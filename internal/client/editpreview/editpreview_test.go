package editpreview

import (
	"testing"

	"callgate/internal/protocol"
	"callgate/tool"
)

func TestPreview(t *testing.T) {
	t.Parallel()
	file := "one\ntwo\nthree\n"
	for _, c := range []struct{ name, tool, args, want string }{
		{"write", "write", `{"content":"new"}`, "new"},
		{"append", "write", `{"content":"four\n","mode":"append"}`, "one\ntwo\nthree\nfour\n"},
		{"replace", "edit", `{"old":"two","new":"2"}`, "one\n2\nthree\n"},
		{"replace all", "edit", `{"old":"o","new":"0","all":true}`, "0ne\ntw0\nthree\n"},
		{"several", "edit", `{"edits":[{"old":"one","new":"1"},{"op":"append","new":"4\n"}]}`, "1\ntwo\nthree\n4\n"},
		{"lines", "edit", `{"op":"replace_lines","line":1,"end_line":2,"new":"x\n"}`, "x\nthree\n"},
		{"insert", "edit", `{"op":"insert","line":2,"new":"x\n"}`, "one\nx\ntwo\nthree\n"},
		{"what is not there", "edit", `{"old":"nosuch","new":"x"}`, ""},
		{"beyond the end", "edit", `{"op":"replace_lines","line":9,"end_line":12,"new":"x\n"}`, ""},
		{"before the beginning", "edit", `{"op":"insert","new":"x\n"}`, ""},
		{"another op", "edit", `{"op":"turn","new":"x\n"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := protocol.Approval{Call: tool.Call{Tool: tool.ID{Namespace: "filesystem", Name: c.tool}, Args: []byte(c.args)}}
			got, ok := editOf(r)(file, true)
			if got != c.want || ok != (c.want != "") {
				t.Errorf("it would be %q (%v), want %q", got, ok, c.want)
			}
		})
	}
	if editOf(protocol.Approval{Call: tool.Call{Tool: tool.ID{Namespace: "shell", Name: "bash"}}}) != nil {
		t.Error("a command has a preview")
	}
}
