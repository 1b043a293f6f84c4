package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/internal/daemon/httpapi/access"
	"callgate/internal/daemon/web"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
	"callgate/internal/token"
	"callgate/tool"
)

// of has a token stand for a user.
func of(name string, teams ...string) func(*token.Token) {
	return func(t *token.Token) { t.Person = token.Person{User: name, Teams: teams} }
}

// Every route that is served over the network is in the table of who sees what.
func TestEveryRouteIsJudged(t *testing.T) {
	t.Parallel()
	judged := access.Routes()
	for _, r := range web.Routes() {
		if !slices.Contains(judged, r) {
			t.Errorf("%s is not in the table of package access", r)
		}
	}
	for _, r := range judged {
		if !slices.Contains(web.Routes(), r) {
			t.Errorf("%s is in the table of package access, and not served", r)
		}
	}
}

// things are the IDs of what a user made.
type things struct{ session, conversation, approval, task, call, artifact string }

func (x things) all() []string {
	return []string{x.session, x.conversation, x.approval, x.task, x.call, x.artifact}
}

// make has a user make one thing of each kind. Their words are secret.
func (f *face) make(value, words string) (x things) {
	f.Helper()
	read := func(path, body string, into any) {
		f.Helper()
		status, text := f.ask(value, http.MethodPost, path, body)
		if status != http.StatusOK {
			f.Fatalf("%s: %d %s", path, status, text)
		}
		kerneltest.OK(f, json.Unmarshal([]byte(text), into))
	}
	kerneltest.Write(f, filepath.Join(f.workspace, "callgate.yaml"),
		"app: {app_id: shared, name: Shared}\nruntime: {scheduler: true}\n")
	kerneltest.OpenAccepted(f, f.kernel, f.workspace).Close()
	var opened struct{ ID string }
	read("/v1/sessions", "{}", &opened)
	x.session = opened.ID
	var result tool.Result
	call := func(session, name, args string) {
		f.Helper()
		read("/v1/sessions/"+session+"/calls", `{"no_wait":true,"name":"`+name+`","args":`+args+`}`, &result)
	}
	call(x.session, "filesystem.write", `{"path":"`+words+`.txt","content":"`+strings.Repeat(words, 20_000)+`"}`)
	x.call = result.Call
	call(x.session, "shell.bash", `{"command":"touch made && echo `+words+`"}`)
	read("/v1/conversations", "{}", &opened)
	x.conversation = opened.ID
	call(x.conversation, "context_builder.remind", `{"message":"`+words+`","when":"in 2h"}`)
	if result.Status != tool.Success {
		f.Fatalf("the reminder: %+v", result)
	}
	var asked []protocol.Record
	f.get(value, "/v1/journal?call="+x.call, &asked)
	for _, r := range asked {
		if r.Ask != nil && r.Ask.ArgsRef != "" {
			x.artifact = r.Ask.ArgsRef
		}
	}
	status, text := f.ask(value, http.MethodPost, "/v1/conversations/"+x.conversation+"/messages", `{"text":"`+words+`"}`)
	if status != http.StatusOK {
		f.Fatalf("the turn: %d %s", status, text)
	}
	var pending []protocol.Approval
	f.get(value, "/v1/approvals?state=pending", &pending)
	if len(pending) == 1 {
		x.approval = pending[0].ID
	}
	var tasks []protocol.Task
	f.get(value, "/v1/tasks?all=true", &tasks)
	if len(tasks) > 0 {
		x.task = tasks[0].ID
	}
	if slices.Contains(x.all(), "") {
		f.Fatalf("%s made %+v", words, x)
	}
	return x
}

// get reads what a path has.
func (f *face) get(value, path string, into any) {
	f.Helper()
	status, text := f.ask(value, http.MethodGet, path, "")
	if status != http.StatusOK {
		f.Fatalf("%s: %d %s", path, status, text)
	}
	kerneltest.OK(f, json.Unmarshal([]byte(text), into))
}

var inBraces = regexp.MustCompile(`\{[a-z]+\}`)

// asOther sends a request of a route with the IDs of somebody's things in its path, each in turn.
func (f *face) asOther(value, pattern, body string, x things) map[string]string {
	f.Helper()
	method, path, _ := strings.Cut(pattern, " ")
	answers := map[string]string{}
	for _, id := range x.all() {
		at := inBraces.ReplaceAllString(path, id)
		status, text := f.ask(value, method, at, body)
		answers[method+" "+at] = strings.Join([]string{http.StatusText(status), text}, ": ")
	}
	return answers
}

// What is another's does not exist: on every route that takes an ID, with every role but an administrator's.
func TestOthersThingsDoNotExist(t *testing.T) {
	t.Parallel()
	f := serve(t)
	adas := f.make(f.token(token.Operator, of("ada")), "xyzzy")
	strangers := map[string]string{}
	for _, role := range []token.Role{token.Viewer, token.Operator, token.Approver} {
		strangers["bob, "+string(role)] = f.token(role, of("bob"))
		strangers["the kernel's own, "+string(role)] = f.token(role)
	}
	strangers["bob, admin"] = f.token(token.Admin, of("bob"))
	bodies := map[string]string{
		protocol.RouteSendMessage: `{"text":"hello"}`, protocol.RouteQueueMessage: `{"text":"hello"}`,
		protocol.RouteAnswer: `{"approve":true}`, protocol.RouteCall: `{"name":"clock.now"}`,
	}
	for who, value := range strangers {
		for _, pattern := range web.Routes() {
			if !strings.Contains(pattern, "{") {
				continue
			}
			body := bodies[pattern]
			if body == "" {
				body = "{}"
			}
			for at, answer := range f.asOther(value, pattern, body, adas) {
				if strings.Contains(answer, "xyzzy") {
					t.Errorf("%s: %s shows %s", who, at, answer)
				}
				if strings.HasPrefix(answer, "OK") && !strings.HasSuffix(who, "admin") {
					t.Errorf("%s: %s answers %s", who, at, answer)
				}
				isForbidden := strings.HasPrefix(answer, "Forbidden")
				if isForbidden && strings.HasPrefix(who, "bob") && !strings.HasSuffix(who, "admin") &&
					!strings.Contains(answer, "has the role") {
					t.Errorf("%s: %s tells that it is there: %s", who, at, answer)
				}
			}
		}
		for _, body := range []string{`{"resume":"` + adas.conversation + `"}`, `{"leaves":"` + adas.conversation + `"}`} {
			status, text := f.ask(value, http.MethodPost, "/v1/conversations", body)
			if status == http.StatusOK || strings.Contains(text, "xyzzy") {
				t.Errorf("%s opens %s: %d %s", who, body, status, text)
			}
		}
	}
	if r, err := f.kernel.Approvals.Get(t.Context(), adas.approval); err != nil || r.State != "pending" {
		t.Errorf("the approval is %s: %v", r.State, err)
	}
}

// lists are the paths that list what somebody asked for.
func lists() []string {
	return []string{
		"/v1/conversations", "/v1/approvals", "/v1/questions", "/v1/tasks?all=true", "/v1/proposals", "/v1/deliveries",
		"/v1/journal", "/v1/journal?newest=true&limit=20", "/v1/doubts?all=true",
	}
}

// A list has what is one's own, and an administrator's the metadata of the others.
func TestListsOfUsers(t *testing.T) {
	t.Parallel()
	f := serve(t)
	ada, bob := f.token(token.Operator, of("ada")), f.token(token.Operator, of("bob"))
	f.make(ada, "xyzzy")
	f.make(bob, "plugh")
	own := f.token(token.Operator)
	for _, path := range lists() {
		_, adas := f.ask(ada, http.MethodGet, path, "")
		_, bobs := f.ask(bob, http.MethodGet, path, "")
		_, kernels := f.ask(own, http.MethodGet, path, "")
		_, admins := f.ask(f.token(token.Admin, of("carol")), http.MethodGet, path, "")
		if strings.Contains(adas, "plugh") || strings.Contains(adas, "@bob") || strings.Contains(bobs, "xyzzy") {
			t.Errorf("%s shows another's", path)
		}
		if strings.Contains(kernels, "xyzzy") || strings.Contains(kernels, "plugh") {
			t.Errorf("%s shows the kernel's own user what others wrote: %s", path, kernels)
		}
		if strings.Contains(admins, "xyzzy") || strings.Contains(admins, "plugh") {
			t.Errorf("%s shows an administrator what others wrote: %s", path, admins)
		}
	}
	for _, path := range []string{"/v1/conversations", "/v1/approvals", "/v1/tasks?all=true", "/v1/journal"} {
		_, adas := f.ask(ada, http.MethodGet, path, "")
		_, admins := f.ask(f.token(token.Admin, of("carol")), http.MethodGet, path, "")
		if !strings.Contains(adas, "xyzzy") || !strings.Contains(admins, "@ada") || !strings.Contains(admins, "@bob") {
			t.Errorf("%s has not what it should:\n%s\n%s", path, adas, admins)
		}
	}
	if _, text := f.ask(ada, http.MethodGet, "/v1/journal?limit=2", ""); strings.Count(text, `"seq"`) != 2 {
		t.Errorf("two records are %s", text)
	}
	var every, newest []protocol.Record
	f.get(ada, "/v1/journal", &every)
	f.get(ada, "/v1/journal?newest=true&limit=2", &newest)
	if last := every[len(every)-2:]; len(newest) != 2 || newest[0].Seq != last[0].Seq || newest[1].Seq != last[1].Seq {
		t.Errorf("the newest two are %v, and not %v", newest, last)
	}
	if status, text := f.ask(ada, http.MethodGet, "/v1/stats", ""); status != http.StatusForbidden {
		t.Errorf("ada is told of everybody: %d %s", status, text)
	}
}

// A rule of the kernel's own user lets administrators read contents, which is on record then.
func TestAdministratorsReadContents(t *testing.T) {
	t.Parallel()
	f := serve(t)
	adas := f.make(f.token(token.Operator, of("ada")), "xyzzy")
	admin := f.token(token.Admin, of("carol"), func(t *token.Token) { t.Name = "desk" })
	paths := []string{
		"/v1/conversations/" + adas.conversation, "/v1/artifacts/" + adas.artifact, "/v1/calls/" + adas.call + "/result",
		"/v1/journal/export", "/v1/tasks/" + adas.task + "/log",
	}
	for _, path := range paths {
		status, text := f.ask(admin, http.MethodGet, path, "")
		if status != http.StatusForbidden || !strings.Contains(text, "admin_reads") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	status, text := f.ask(admin, http.MethodGet, "/v1/approvals/"+adas.approval, "")
	if status != http.StatusOK || strings.Contains(text, "xyzzy") || !strings.Contains(text, "@ada") {
		t.Errorf("the approval is %d %s", status, text)
	}
	if got := f.notes(); strings.Contains(got, "read contents") {
		t.Errorf("on record is %s", got)
	}
	kerneltest.Write(t, f.kernel.Apps.UserFile(), "users: {admin_reads: contents}\n")
	for _, path := range append(paths, "/v1/approvals/"+adas.approval, "/v1/conversations") {
		status, text := f.ask(admin, http.MethodGet, path, "")
		if status != http.StatusOK || !strings.HasSuffix(path, "/log") && !strings.Contains(text, "xyzzy") {
			t.Errorf("%s: %d %s", path, status, text)
		}
		at, _, _ := strings.Cut(path, "?")
		if got := f.notes(); !strings.Contains(got, "carol with the token desk read contents of others") ||
			!strings.Contains(got, "GET "+at) {
			t.Errorf("%s is not on record: %s", path, got)
		}
	}
	// To read is not to act.
	for path, body := range map[string]string{
		"/v1/approvals/" + adas.approval + "/answer":           `{"approve":true}`,
		"/v1/conversations/" + adas.conversation + "/fork":     "{}",
		"/v1/conversations/" + adas.conversation + "/messages": `{"text":"go on"}`,
	} {
		if status, text := f.ask(admin, http.MethodPost, path, body); status != http.StatusForbidden {
			t.Errorf("an administrator acts for another: %s: %d %s", path, status, text)
		}
	}
	if status, text := f.ask(f.token(token.Viewer, of("bob")), http.MethodGet, paths[0], ""); status != http.StatusNotFound {
		t.Errorf("the rule opens it to a viewer: %d %s", status, text)
	}
	kerneltest.Write(t, f.kernel.Apps.UserFile(), "users: {admin_reads: all}\n")
	if status, _ := f.ask(admin, http.MethodGet, paths[0], ""); status != http.StatusForbidden {
		t.Errorf("a mistake in the rules opens it: %d", status)
	}
}

// What somebody does with one token is theirs with another, and is the user's on record.
func TestUserHasSeveralTokens(t *testing.T) {
	t.Parallel()
	f := serve(t)
	adas := f.make(f.token(token.Operator, of("ada")), "xyzzy")
	other := f.token(token.Approver, of("ada"))
	var history protocol.History
	f.get(other, "/v1/conversations/"+adas.conversation, &history)
	if history.User != "@ada" {
		t.Errorf("the conversation is of %q", history.User)
	}
	status, text := f.ask(other, http.MethodPost, "/v1/approvals/"+adas.approval+"/answer", `{"approve":false}`)
	if status != http.StatusOK || !strings.Contains(text, " of ada\"") {
		t.Errorf("the answer is %d %s", status, text)
	}
	known, err := f.kernel.Tokens.Users.List(t.Context())
	if err != nil || len(known) != 1 || known[0].User != "ada" {
		t.Errorf("known are %v, %v", known, err)
	}
}

// followed reads the journal as it is followed, until a record of a call is there.
func (f *face) followed(value, last string) string {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.server.URL()+"/v1/journal/follow", nil)
	kerneltest.OK(f, err)
	r.Header.Set("Authorization", "Bearer "+value)
	answer, err := http.DefaultTransport.RoundTrip(r)
	kerneltest.OK(f, err)
	defer answer.Body.Close()
	var text strings.Builder
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		text.Write(lines.Bytes())
		if strings.Contains(lines.Text(), last) {
			return text.String()
		}
	}
	f.Fatalf("%s never came: %s", last, text.String())
	return ""
}

// Who follows the journal gets what they see.
func TestFollowAsUser(t *testing.T) {
	t.Parallel()
	f := serve(t)
	ada, bob := f.token(token.Operator, of("ada")), f.token(token.Operator, of("bob"))
	call := func(value, words string) string {
		_, text := f.ask(value, http.MethodPost, "/v1/tools/filesystem.write/call",
			`{"args":{"path":"`+words+`.txt","content":"`+words+`"}}`)
		var result tool.Result
		kerneltest.OK(t, json.Unmarshal([]byte(text), &result))
		return result.Call
	}
	adas, bobs := call(ada, "xyzzy"), call(bob, "plugh")
	last := call(ada, "xyzzy-last")
	if got := f.followed(ada, last); strings.Contains(got, bobs) || !strings.Contains(got, adas) {
		t.Errorf("ada follows %s", got)
	}
	if got := f.followed(f.token(token.Admin, of("carol")), last); strings.Contains(got, "xyzzy") ||
		strings.Contains(got, "plugh") || !strings.Contains(got, bobs) {
		t.Errorf("an administrator follows %s", got)
	}
	own := call(f.token(token.Operator), "own")
	if got := f.followed(f.token(token.Viewer), own); strings.Contains(got, adas) || strings.Contains(got, "xyzzy") {
		t.Errorf("the kernel's own user follows %s", got)
	}
}

// A yes that lasts is the kernel's own user's: it lets no user's call run, and none is offered for one.
func TestGrantsHoldForNoUser(t *testing.T) {
	t.Parallel()
	f := serve(t)
	const asked = `{"no_wait":true,"args":{"command":"touch made && echo said"}}`
	own, ada := f.token(token.Operator), f.token(token.Operator, of("ada"))
	pending := func(value string) (list []protocol.Approval) {
		f.get(value, "/v1/approvals?state=pending", &list)
		return list
	}
	f.ask(own, http.MethodPost, "/v1/tools/shell.bash/call", asked)
	waits := pending(own)
	if len(waits) != 1 || len(waits[0].Choices) == 0 {
		t.Fatalf("waiting is %+v", waits)
	}
	status, text := f.ask(f.token(token.Approver), http.MethodPost, "/v1/approvals/"+waits[0].ID+"/answer",
		`{"approve":true,"remember":{"choice":1}}`)
	if status != http.StatusOK {
		t.Fatalf("the yes is %d %s", status, text)
	}
	if _, text := f.ask(own, http.MethodPost, "/v1/tools/shell.bash/call", asked); strings.Contains(text, `"waiting"`) {
		t.Errorf("the grant does not hold for whom it is: %s", text)
	}
	if _, text := f.ask(ada, http.MethodPost, "/v1/tools/shell.bash/call", asked); !strings.Contains(text, `"waiting"`) {
		t.Errorf("the grant holds for ada: %s", text)
	}
	if waits := pending(ada); len(waits) != 1 || len(waits[0].Choices) != 0 {
		t.Errorf("ada's waits as %+v", waits)
	}
}

// What an agent remembers for one user is not known to another's.
func TestMemoryOfUsers(t *testing.T) {
	t.Parallel()
	f := serve(t)
	ada, bob := f.token(token.Operator, of("ada")), f.token(token.Operator, of("bob"))
	_, text := f.ask(ada, http.MethodPost, "/v1/tools/memory.remember/call", `{"args":{"content":"xyzzy is the word"}}`)
	if !strings.Contains(text, `"success"`) {
		t.Fatalf("ada remembers %s", text)
	}
	const query = `{"args":{"query":"xyzzy word"}}`
	if _, text := f.ask(ada, http.MethodPost, "/v1/tools/memory.query/call", query); !strings.Contains(text, "is the word") {
		t.Errorf("ada is told %s", text)
	}
	if _, text := f.ask(bob, http.MethodPost, "/v1/tools/memory.query/call", query); strings.Contains(text, "is the word") {
		t.Errorf("bob is told %s", text)
	}
}

// A token that stands for a user says yes to nothing by this machine's socket, where nobody judges what is whose.
func TestUsersTokenAtTheSocket(t *testing.T) {
	t.Parallel()
	f := serve(t)
	id, ended := f.askFirst()
	for _, c := range []struct {
		value string
		want  int
	}{
		{f.token(token.Approver, of("ada")), http.StatusForbidden}, {f.token(token.Approver), http.StatusOK},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/approvals/"+id+"/answer",
			strings.NewReader(`{"approve":false}`))
		kerneltest.OK(t, err)
		r.Header.Set(protocol.TokenHeader, c.value)
		answer := httptest.NewRecorder()
		if f.api.ServeHTTP(answer, r); answer.Code != c.want {
			t.Errorf("%d, and not %d: %s", answer.Code, c.want, answer.Body)
		}
	}
	<-ended
}

// What a user accepts holds for that user alone: a rule holds for everybody.
func TestUsersAcceptNoRules(t *testing.T) {
	t.Parallel()
	f := serve(t)
	ada := f.token(token.Operator, of("ada"))
	x := f.make(ada, "xyzzy")
	status, text := f.ask(ada, http.MethodPost, "/v1/sessions/"+x.conversation+"/calls",
		`{"name":"propose_config_change","args":{"reason":"it stops too soon","changes":[{"path":"runtime.max_turns","value":40}]}}`)
	var made []protocol.Proposal
	f.get(ada, "/v1/proposals", &made)
	if len(made) != 1 {
		t.Fatalf("made are %v: %d %s", made, status, text)
	}
	accept := "/v1/proposals/" + made[0].ID + "/accept"
	if status, text := f.ask(f.token(token.Approver, of("ada")), http.MethodPost, accept, "{}"); status != http.StatusForbidden ||
		!strings.Contains(text, "everybody") {
		t.Errorf("a user changes the rules of all: %d %s", status, text)
	}
}
