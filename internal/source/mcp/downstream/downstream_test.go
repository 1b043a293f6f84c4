//lint:file-ignore SA1019 servers still use models, roots and logs

package downstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/source/mcp/downstream"
	"callgate/tool"
)

// client answers every question with itself, and records which it was asked.
type client struct {
	info  downstream.ClientInfo
	omits string // the key of a question that it does not answer
	err   error
	asked []string
}

func (c *client) Info() downstream.ClientInfo { return c.info }

func (c *client) RequestInput(_ context.Context, server string, asked sdk.InputRequestMap) (sdk.InputResponseMap, error) {
	answers := sdk.InputResponseMap{"not asked": &sdk.ElicitResult{Action: "accept"}}
	for key := range asked {
		c.asked = append(c.asked, server+" "+key)
		if key != c.omits {
			answers[key] = &sdk.ElicitResult{Action: "accept", Content: map[string]any{"key": key}}
		}
	}
	slices.Sort(c.asked)
	return answers, c.err
}

func (*client) Log(*downstream.Log) {}

func (*client) MissingCapability(string, *jsonrpc.Error) {}

func TestInfoOf(t *testing.T) {
	t.Parallel()
	form, page := &sdk.FormElicitationCapabilities{}, &sdk.URLElicitationCapabilities{}
	old := &sdk.ClientCapabilities{}
	old.Roots.ListChanged = true
	for _, c := range []struct {
		name string
		caps *sdk.ClientCapabilities
		want string
	}{
		{"nobody", nil, `{}`},
		{"nothing", &sdk.ClientCapabilities{}, `{}`},
		{"elicitation of an unsaid kind", &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{}}, `{"elicitation":{"form":{}}}`},
		{"pages only", &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{URL: page}}, `{}`},
		{"forms and pages", &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{Form: form, URL: page}}, `{"elicitation":{"form":{}}}`},
		{"a model", &sdk.ClientCapabilities{Sampling: &sdk.SamplingCapabilities{}}, `{"sampling":{}}`},
		{"roots", &sdk.ClientCapabilities{RootsV2: &sdk.RootCapabilities{}}, `{"roots":{}}`},
		{"roots, in the old field", old, `{"roots":{"listChanged":true}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			info := downstream.InfoOf(c.caps, "warning")
			got, err := json.Marshal(info.Capabilities)
			if err != nil || string(got) != c.want || info.LogLevel != "warning" {
				t.Errorf("capabilities %s, level %s, %v; want %s", got, info.LogLevel, err, c.want)
			}
		})
	}
}

func TestMeta(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		client downstream.Client
		want   string
	}{
		{"no client", nil, `{"io.modelcontextprotocol/clientCapabilities":{}}`},
		{"a client that says nothing", &client{}, `{"io.modelcontextprotocol/clientCapabilities":{}}`},
		{"a client with a level",
			&client{info: downstream.ClientInfo{Capabilities: map[string]any{"sampling": struct{}{}}, LogLevel: "info"}},
			`{"io.modelcontextprotocol/clientCapabilities":{"sampling":{}},"io.modelcontextprotocol/logLevel":"info"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := json.Marshal(downstream.Meta(c.client))
			if err != nil || string(got) != c.want {
				t.Errorf("metadata %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestForward(t *testing.T) {
	t.Parallel()
	form, page := &sdk.ElicitParams{Message: "which?"}, &sdk.ElicitParams{Mode: "url", Message: "look"}
	roots, sample := &sdk.ListRootsParams{}, &sdk.CreateMessageParams{}
	able := downstream.InfoOf(&sdk.ClientCapabilities{
		Elicitation: &sdk.ElicitationCapabilities{}, Sampling: &sdk.SamplingCapabilities{}, RootsV2: &sdk.RootCapabilities{},
	}, "")
	for _, c := range []struct {
		name    string
		client  *client
		ask     sdk.InputRequestMap
		asked   []string
		answers string
		err     string
	}{
		{name: "everything", client: &client{info: able}, ask: sdk.InputRequestMap{"f": form, "r": roots, "s": sample},
			asked: []string{"far f", "far r", "far s"}, answers: "f accept, r accept, s accept"},
		{name: "an answer is left out", client: &client{info: able, omits: "r"}, ask: sdk.InputRequestMap{"f": form, "r": roots},
			asked: []string{"far f", "far r"}, answers: "f accept"},
		{name: "a page is declined", client: &client{info: able}, ask: sdk.InputRequestMap{"f": form, "p": page},
			asked: []string{"far f"}, answers: "f accept, p decline"},
		{name: "no client", ask: sdk.InputRequestMap{"f": form, "p": page}, answers: "f decline, p decline"},
		{name: "a client without forms", client: &client{}, ask: sdk.InputRequestMap{"f": form}, answers: "f decline"},
		{name: "roots of no client", ask: sdk.InputRequestMap{"r": roots}, err: `capability "roots"`},
		{name: "no model, and nothing else is asked", client: &client{info: downstream.InfoOf(nil, "")},
			ask: sdk.InputRequestMap{"f": form, "s": sample}, err: `capability "sampling"`},
		{name: "the client fails", client: &client{info: able, err: errors.New("gone")}, ask: sdk.InputRequestMap{"f": form},
			asked: []string{"far f"}, err: "gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var to downstream.Client
			if c.client != nil {
				to = c.client
			}
			got, err := downstream.Forward(t.Context(), to, "far", c.ask)
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("error %v; want %q", err, c.err)
			}
			if strings.HasPrefix(c.err, "capability") && tool.KindOf(err) != tool.Unavailable {
				t.Errorf("error of kind %s", tool.KindOf(err))
			}
			var answers []string
			for key, r := range got {
				answers = append(answers, key+" "+r.(*sdk.ElicitResult).Action)
			}
			slices.Sort(answers)
			if text := strings.Join(answers, ", "); text != c.answers {
				t.Errorf("answers %q; want %q", text, c.answers)
			}
			if c.client != nil {
				if diff := cmp.Diff(c.asked, c.client.asked); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestMinLevel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want downstream.Level }{
		{"", "", ""}, {"", "error", "error"}, {"error", "", "error"}, {"info", "debug", "debug"}, {"debug", "info", "debug"},
		{"error", "unknown", "error"}, {"unknown", "error", "error"}, {"emergency", "alert", "alert"}, {"info", "info", "info"},
	} {
		if got := downstream.MinLevel(c.a, c.b); got != c.want {
			t.Errorf("of %q and %q the lower is %q; want %q", c.a, c.b, got, c.want)
		}
	}
}
