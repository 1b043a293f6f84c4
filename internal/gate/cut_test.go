package gate_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"callgate/internal/gate"
	"callgate/internal/journal"
	"callgate/tool"
)

// TestNoPartOfASecretRemains lets secrets lie across every cut: where a tool cuts
// its summary, its text, its data or its error, and where the gate cuts a result
// or a record. Nothing of eight or more characters may be left of one.
func TestNoPartOfASecretRemains(t *testing.T) {
	const value = "kW8#q/Zr?5+tB2 m&Yx7=Lp9vD4sGh6J"
	t.Setenv("TEST_CUT_TOKEN", value)
	percents := ""
	for _, c := range []byte(value) {
		percents += fmt.Sprintf("%%%02X", c)
	}
	moved := func(before string) string { return base64.StdEncoding.EncodeToString([]byte(before + value + "me")) }
	for name, form := range map[string]string{
		"plain": value, "hex": hex.EncodeToString([]byte(value)), "URL": url.QueryEscape(value), "path": url.PathEscape(value),
		"all percents": percents, "base64": base64.StdEncoding.EncodeToString([]byte(value)),
		"base64, moved by 1": moved("u")[2:44], "base64, moved by 2": moved("u:")[3:45], // the characters of the value alone
	} {
		for how, result := range map[string]func(cut int) (*tool.Result, error){
			"summary": func(cut int) (*tool.Result, error) {
				return &tool.Result{Summary: tool.TruncateTo("it is "+form, 6+cut)}, nil
			},
			"summary without a mark": func(cut int) (*tool.Result, error) {
				return &tool.Result{Summary: "it is " + form[:cut]}, nil
			},
			"warning": func(cut int) (*tool.Result, error) {
				return &tool.Result{Summary: "ok", Warnings: []string{tool.TruncateTo(form, cut), "it ends: … " + form[cut:]}}, nil
			},
			"text": func(cut int) (*tool.Result, error) {
				text := fmt.Sprintf("%s\n… 99 bytes left out …\n%s", form[:cut], form[cut:])
				return &tool.Result{Summary: "ok", Content: []tool.Content{tool.Text(text)}}, nil
			},
			"data": func(cut int) (*tool.Result, error) {
				return tool.OK("ok", map[string]string{"body": form[:cut] + "…", "end": "…" + form[cut:]})
			},
			"error": func(cut int) (*tool.Result, error) {
				return nil, errors.New("it failed with " + tool.TruncateTo(form, cut))
			},
			"the gate's cut": func(cut int) (*tool.Result, error) {
				long := strings.Repeat("x", 666-cut) + " " + form + strings.Repeat(" y", 900)
				return &tool.Result{Summary: strings.Repeat("x", 500-cut) + " " + form, Content: []tool.Content{tool.Text(long)}}, nil
			},
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				h := open(t, gate.Limits{Result: 1000})
				cut := 0
				r := writes
				r.Secrets = []string{"TEST_CUT_TOKEN"}
				h.add(t, "t:cut@1.0.0", anyObject, r, func(context.Context, tool.Call, tool.Grant) (*tool.Result, error) {
					return result(cut)
				})
				for cut = 8; cut < len(form); cut += 5 { // internal/secret tries every place
					answer, _ := json.Marshal(h.call(t, "t.cut", `{}`))
					if part := partOf(string(answer), form); part != "" {
						t.Fatalf("cut at %d, the result holds %q: %s", cut, part, answer)
					}
				}
				ok(t, h.Journal.Flush(t.Context()))
				var dump strings.Builder
				ok(t, h.Journal.Export(t.Context(), &dump, journal.Query{}))
				if part := partOf(dump.String(), form); part != "" {
					t.Errorf("the journal holds %q", part)
				}
			})
		}
	}
}

// partOf returns eight characters of a secret's form that stand in a text, or
// three characters where each is three.
func partOf(text, form string) string {
	text = strings.NewReplacer(`\u0026`, "&").Replace(text)
	size := 8
	if strings.Count(form, "%")*3 == len(form) {
		size = 9
	}
	for i := 0; i+size <= len(form); i++ {
		if strings.Contains(text, form[i:i+size]) {
			return form[i : i+size]
		}
	}
	return ""
}
