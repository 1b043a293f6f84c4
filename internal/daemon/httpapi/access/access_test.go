package access_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/internal/daemon/httpapi"
	"callgate/internal/daemon/httpapi/access"
	"callgate/internal/daemon/httpapi/feed"
	"callgate/internal/daemon/httpapi/route"
	"callgate/internal/journal"
	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
	"callgate/internal/protocol"
	"callgate/internal/task"
	"callgate/internal/token"
	"callgate/tool"
)

// network is a kernel with users, and its API as network clients reach it.
type network struct {
	testing.TB
	kernel *kernel.Kernel
	api    *httpapi.API
}

// serve opens a kernel that knows the user ada.
func serve(t testing.TB) network {
	t.Helper()
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	kerneltest.OK(t, k.Tokens.Users.Saw(t.Context(), token.Person{User: "ada"}))
	api := httpapi.New(k, httpapi.Lifecycle{Context: t.Context()})
	t.Cleanup(api.Close)
	return network{t, k, api}
}

// login returns the login of a user's token; "" is the kernel's own user.
func login(user string, role token.Role) route.Login {
	return route.Login{Token: token.Token{Name: "t-" + user, Role: role, Person: token.Person{User: user}}}
}

// get sends a request with a login, and returns the status and the body of the answer.
func (n network) get(l route.Login, path string) (int, string) {
	n.Helper()
	w := httptest.NewRecorder()
	n.api.ServeHTTP(w, route.WithLogin(httptest.NewRequestWithContext(n.Context(), http.MethodGet, path, nil), l))
	return w.Code, w.Body.String()
}

// read reads the answer to a request that must succeed.
func (n network) read(l route.Login, path string, into any) {
	n.Helper()
	status, text := n.get(l, path)
	if status != http.StatusOK {
		n.Fatalf("%s: %d %s", path, status, text)
	}
	kerneltest.OK(n, json.Unmarshal([]byte(text), into))
}

// allRecords returns the records of the journal, read past the guard.
func (n network) allRecords() []journal.Record {
	n.Helper()
	kerneltest.OK(n, n.kernel.Journal.Flush(n.Context()))
	list, err := n.kernel.Journal.Read(n.Context(), journal.Query{})
	kerneltest.OK(n, err)
	return list
}

// notes returns which readings of others' contents are on record.
func (n network) notes() (notes []string) {
	n.Helper()
	for _, r := range n.allRecords() {
		if r.Principal == nil && strings.Contains(r.Note, "read contents of others") {
			notes = append(notes, r.Note)
		}
	}
	return notes
}

// readContents has the rules let administrators read what others wrote.
func (n network) readContents() {
	n.Helper()
	kerneltest.Write(n, n.kernel.Apps.UserFile(), "users: {admin_reads: contents}\n")
}

// owners are the users in whose names the tests write; "" is the kernel's own user.
var owners = []string{"@ada", "@bob", ""}

// writeRecords writes more records of each owner than fit into one page, in turn.
func (n network) writeRecords() {
	n.Helper()
	for i := range 1010 {
		for _, owner := range owners {
			note := fmt.Sprintf("words of %q, %d", owner, i)
			rec := journal.Record{Kind: journal.Noted, Principal: &tool.Principal{User: owner}, Note: note}
			kerneltest.OK(n, n.kernel.Journal.Append(rec))
		}
	}
}

// TestRecordsInPages tests that a reader gets exactly the records that they see, in order, however many pages of the
// journal these are spread over.
func TestRecordsInPages(t *testing.T) {
	t.Parallel()
	n := serve(t)
	n.writeRecords()
	every := n.allRecords()
	middle := every[len(every)/2].Seq
	owner := func(r journal.Record) string {
		if r.Principal == nil {
			return "the kernel"
		}
		return r.Principal.User
	}
	for _, reader := range []struct {
		name  string
		login route.Login
		sees  []string // owners
		whole []string // owners whose contents the reader gets
	}{
		{"a user", login("ada", token.Viewer), []string{"@ada"}, []string{"@ada"}},
		{"another user", login("bob", token.Approver), []string{"@bob"}, []string{"@bob"}},
		{"the kernel's own user", login("", token.Viewer), []string{"the kernel", ""}, []string{"the kernel", ""}},
		{
			"an administrator", login("ada", token.Admin),
			[]string{"the kernel", "", "@ada", "@bob"}, []string{"the kernel", "@ada"},
		},
	} {
		for _, q := range []struct {
			query         string
			after, before uint64
			newest        bool
			limit         int
		}{
			{query: ""},
			{query: "limit=1", limit: 1},
			{query: "limit=999", limit: 999}, // one less than a page
			{query: "limit=1000", limit: 1000},
			{query: "limit=1001", limit: 1001},
			{query: "limit=5000", limit: 5000},
			{query: "newest=true", newest: true},
			{query: "newest=true&limit=1", newest: true, limit: 1},
			{query: "newest=true&limit=1001", newest: true, limit: 1001},
			{query: fmt.Sprintf("after=%d", middle), after: middle},
			{query: fmt.Sprintf("after=%d&limit=400", middle), after: middle, limit: 400},
			{query: fmt.Sprintf("before=%d&newest=true&limit=400", middle), before: middle, newest: true, limit: 400},
		} {
			var want []uint64
			for _, r := range every {
				if slices.Contains(reader.sees, owner(r)) && r.Seq > q.after && (q.before == 0 || r.Seq < q.before) {
					want = append(want, r.Seq)
				}
			}
			if q.limit > 0 && len(want) > q.limit {
				if q.newest {
					want = want[len(want)-q.limit:]
				} else {
					want = want[:q.limit]
				}
			}
			var list []protocol.Record
			n.read(reader.login, "/v1/journal?"+q.query, &list)
			var got []uint64
			for _, r := range list {
				got = append(got, r.Seq)
				who := "the kernel"
				if r.Principal != nil {
					who = r.Principal.User
				}
				if isWhole := slices.Contains(reader.whole, who); who != "the kernel" && (r.Note != "") != isWhole {
					t.Fatalf("%s, %q: record %d of %q has the note %q", reader.name, q.query, r.Seq, who, r.Note)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, %q: %d records %s, want %d %s", reader.name, q.query, len(got), ends(got), len(want), ends(want))
			}
		}
	}
	if notes := n.notes(); len(notes) > 0 {
		t.Errorf("readings are on record that were of no contents: %q", notes)
	}
}

// ends returns the first and the last of the numbers, for a message.
func ends(numbers []uint64) string {
	if len(numbers) == 0 {
		return "[]"
	}
	return fmt.Sprintf("[%d … %d]", numbers[0], numbers[len(numbers)-1])
}

// TestAdministratorReadsRecordsInPages tests that an administrator who may read contents gets them from every page,
// and that one note names all whose contents these are.
func TestAdministratorReadsRecordsInPages(t *testing.T) {
	t.Parallel()
	n := serve(t)
	n.writeRecords()
	n.readContents()
	every := n.allRecords()
	var list []protocol.Record
	n.read(login("carol", token.Admin), "/v1/journal", &list)
	if len(list) != len(every) {
		t.Errorf("%d records of %d", len(list), len(every))
	}
	for _, r := range list {
		if r.Principal != nil && r.Note == "" {
			t.Fatalf("record %d of %s has no note", r.Seq, r.Principal.User)
		}
	}
	n.read(login("ada", token.Approver), "/v1/journal", &list)
	for _, r := range list {
		if r.Principal == nil || r.Principal.User != "@ada" {
			t.Fatalf("a user who is no administrator gets record %d", r.Seq)
		}
	}
	notes := n.notes()
	if len(notes) != 1 || !strings.Contains(notes[0], "(the kernel's own user, ada, bob): GET /v1/journal") {
		t.Errorf("on record is %q", notes)
	}
}

// TestAllIsAllOfOnesOwn tests that a user who asks for all tasks gets all of their own, and no other's, also from a
// list of several pages.
func TestAllIsAllOfOnesOwn(t *testing.T) {
	t.Parallel()
	n := serve(t)
	var adas []string // the newest first
	add := func(i int, owner string) {
		added := task.Task{
			ID: fmt.Sprintf("%s-%d", strings.TrimPrefix(owner, "@"), i), Kind: "test", Label: "words of " + owner,
			Asker: task.Asker{Principal: tool.Principal{User: owner}}, RunAt: time.Now().Add(time.Hour),
		}
		if i%10 > 0 { // nine of ten have ended
			added.Outcome = &task.Outcome{State: task.Done, Summary: "words of " + owner}
		}
		_, _, err := n.kernel.Tasks.Store().Create(t.Context(), added)
		kerneltest.OK(t, err)
		if owner == "@ada" {
			adas = append([]string{added.ID}, adas...)
		}
	}
	for i := range 20 {
		add(i, "@ada")
	}
	for i := range 1010 { // more than a page
		add(i, "@bob")
	}
	for i := range 20 {
		add(i+20, "@ada")
	}
	var active []string
	for _, id := range adas {
		if strings.HasSuffix(id, "0") {
			active = append(active, id)
		}
	}
	ada, bob, admin := login("ada", token.Operator), login("bob", token.Viewer), login("carol", token.Admin)
	for _, test := range []struct {
		name  string
		login route.Login
		query string
		want  []string
		count int // of tasks, where want is nil
	}{
		{"a user's active tasks", ada, "", active, 0},
		{"all of a user's", ada, "?all=true", adas, 0},
		{"the first of a user's", ada, "?all=true&limit=25", adas[:25], 0},
		{"those that follow one", ada, "?all=true&limit=30&after=" + adas[4], adas[5:35], 0},
		{"all of another user's", bob, "?all=true", nil, 1010},
		{"more than a page of another user's", bob, "?all=true&limit=1005", nil, 1005},
		{"all of a third user's", login("dan", token.Approver), "?all=true", []string{}, 0},
		{"all of the kernel's own user's", login("", token.Operator), "?all=true", []string{}, 0},
		{"an administrator's", admin, "?all=true", nil, 1050},
	} {
		var list []protocol.Task
		n.read(test.login, "/v1/tasks"+test.query, &list)
		var got []string
		for _, x := range list {
			got = append(got, x.ID)
			isAdmin := test.login.Role == token.Admin
			if of := x.Asker.Principal.User; !isAdmin && of != test.login.InPrincipal() {
				t.Fatalf("%s: a task of %s", test.name, of)
			} else if isAdmin && (x.Label != "" || x.Outcome != nil && x.Outcome.Summary != "") {
				t.Fatalf("%s: the words of %s", test.name, of)
			}
		}
		if test.want == nil && len(got) != test.count || test.want != nil && !slices.Equal(got, test.want) {
			t.Errorf("%s: %d tasks %.200q, want %d %.200q", test.name, len(got), got, max(test.count, len(test.want)), test.want)
		}
	}
}

// TestArtifactsOfOldRecords tests whose an artifact is that a record names which is pages back in the journal.
func TestArtifactsOfOldRecords(t *testing.T) {
	t.Parallel()
	n := serve(t)
	refs := map[string]string{}
	for _, owner := range owners {
		ref, err := n.kernel.Artifacts.Put(t.Context(), []byte("words of "+owner))
		kerneltest.OK(t, err)
		end := &journal.End{Status: tool.Success, ArtifactRef: ref}
		rec := journal.Record{Kind: journal.Ended, Call: "call-of-" + owner, Principal: &tool.Principal{User: owner}, End: end}
		kerneltest.OK(t, n.kernel.Journal.Append(rec))
		refs[owner] = ref
	}
	unnamed, err := n.kernel.Artifacts.Put(t.Context(), []byte("words that no record names"))
	kerneltest.OK(t, err)
	refs["none"] = unnamed
	n.writeRecords()
	type answers map[string]int
	for _, test := range []struct {
		name  string
		login route.Login
		want  answers // the status, by the owner
	}{
		{"ada", login("ada", token.Viewer), answers{"@ada": 200, "@bob": 404, "": 404, "none": 404}},
		{"the kernel's own user", login("", token.Viewer), answers{"@ada": 404, "@bob": 404, "": 200, "none": 200}},
		{"an administrator", login("bob", token.Admin), answers{"@ada": 403, "@bob": 200, "": 403, "none": 404}},
	} {
		for owner, want := range test.want {
			if status, text := n.get(test.login, "/v1/artifacts/"+refs[owner]); status != want ||
				strings.Contains(text, "words") != (want == http.StatusOK) {
				t.Errorf("%s reads the artifact of %q: %d %s, want %d", test.name, owner, status, text, want)
			}
		}
	}
	if notes := n.notes(); len(notes) > 0 {
		t.Errorf("readings are on record that were of no contents: %q", notes)
	}
	n.readContents()
	if status, text := n.get(login("bob", token.Admin), "/v1/artifacts/"+refs["@ada"]); status != http.StatusOK {
		t.Errorf("an administrator who may read contents: %d %s", status, text)
	}
	if notes := n.notes(); len(notes) != 1 || !strings.Contains(notes[0], "(ada): GET /v1/artifacts/") {
		t.Errorf("on record is %q", notes)
	}
}

// entry returns a record as the feed of the journal has it.
func entry(t testing.TB, r protocol.Record) feed.Entry {
	t.Helper()
	data, err := json.Marshal(protocol.Event{Record: &r})
	kerneltest.OK(t, err)
	return feed.Entry{Seq: r.Seq, Data: data, Kind: journal.Kind(r.Kind), Call: r.Call, Principal: r.Principal}
}

// follow returns how a reader sees the journal, and what they are shown of some records: the sequence number of
// each, and whether its note is there.
func (n network) follow(l *route.Login, entries ...feed.Entry) (*access.Records, string) {
	n.Helper()
	r := httptest.NewRequestWithContext(n.Context(), http.MethodGet, "/v1/journal/follow", nil)
	if l != nil {
		r = route.WithLogin(r, *l)
	}
	records, err := access.New(n.kernel).Records(r)
	kerneltest.OK(n, err)
	seen, err := records.See(entries)
	kerneltest.OK(n, err)
	var shown []string
	for _, e := range seen {
		text := fmt.Sprint(e.Seq)
		if strings.Contains(string(e.Data), "words") {
			text += " whole"
		}
		shown = append(shown, text)
	}
	return records, strings.Join(shown, ", ")
}

// TestFollow tests which records a follower of the journal is shown, and of which calls the output.
func TestFollow(t *testing.T) {
	t.Parallel()
	n := serve(t)
	record := func(seq uint64, owner string, kind journal.Kind, call string) feed.Entry {
		return entry(t, protocol.Record{
			Seq: seq, Kind: protocol.RecordKind(kind), Call: call, Principal: &tool.Principal{User: owner}, Note: "words",
		})
	}
	kernels := entry(t, protocol.Record{Seq: 1, Kind: protocol.RecordKind(journal.Noted), Note: "words"})
	entries := []feed.Entry{
		kernels, record(2, "@ada", journal.Begun, "adas"), record(3, "@bob", journal.Begun, "bobs"),
		record(4, "", journal.Begun, "owns"), record(5, "@ada", journal.Begun, "ended"), record(6, "@ada", journal.Noted, ""),
		record(7, "@ada", journal.Ended, "ended"), record(8, "@bob", journal.Noted, "bobs"),
	}
	ada, own, admin := login("ada", token.Viewer), login("", token.Viewer), login("carol", token.Admin)
	const everything = "1 whole, 2 whole, 3 whole, 4 whole, 5 whole, 6 whole, 7 whole, 8 whole"
	for _, test := range []struct {
		name   string
		login  *route.Login // nil: over the socket of this machine
		shown  string
		output []string // the calls whose output is shown
	}{
		{"a user", &ada, "2 whole, 5 whole, 6 whole, 7 whole", []string{"adas"}},
		{"the kernel's own user", &own, "1 whole, 4 whole", []string{"owns"}},
		{"an administrator", &admin, "1 whole, 2, 3, 4, 5, 6, 7, 8", nil},
		{"this machine", nil, everything, []string{"adas", "bobs", "owns", "ended", "", "unknown"}},
	} {
		records, shown := n.follow(test.login, entries...)
		if shown != test.shown {
			t.Errorf("%s is shown %s, want %s", test.name, shown, test.shown)
		}
		for _, call := range []string{"adas", "bobs", "owns", "ended", "", "unknown"} {
			if got, want := records.SeesOutput(call), slices.Contains(test.output, call); got != want {
				t.Errorf("%s sees the output of the call %q: %v, want %v", test.name, call, got, want)
			}
		}
	}

	records, _ := n.follow(&admin)
	if _, err := records.See([]feed.Entry{{Seq: 9, Data: []byte("{"), Principal: &tool.Principal{User: "@ada"}}}); err == nil {
		t.Error("an administrator is shown a record that cannot be read")
	}
	if notes := n.notes(); len(notes) > 0 {
		t.Errorf("readings are on record that were of no contents: %q", notes)
	}
	n.readContents()
	for _, l := range []route.Login{ada, own} { // the rule is for administrators
		if records, _ := n.follow(&l, entries...); records.SeesOutput("bobs") {
			t.Errorf("%s sees the output of bob's call", l.Name)
		}
	}
	if notes := n.notes(); len(notes) > 0 {
		t.Errorf("readings are on record of readers who are no administrators: %q", notes)
	}
	records, shown := n.follow(&admin, entries...)
	if shown != everything || !records.SeesOutput("bobs") {
		t.Errorf("an administrator who may read contents is shown %s", shown)
	}
	if notes := n.notes(); len(notes) != 1 || !strings.Contains(notes[0], "(all users): GET /v1/journal/follow") {
		t.Errorf("on record is %q", notes)
	}
}

// TestFollowWithoutUsers tests that an administrator of a kernel without users reads nobody's contents: no note is
// written.
func TestFollowWithoutUsers(t *testing.T) {
	t.Parallel()
	n := network{TB: t, kernel: kerneltest.Open(t, kerneltest.StateDir(t))}
	n.readContents()
	admin := login("", token.Admin)
	if _, shown := n.follow(&admin, entry(t, protocol.Record{Seq: 1, Principal: &tool.Principal{}, Note: "words"})); shown != "1 whole" {
		t.Errorf("the administrator is shown %s", shown)
	}
	if notes := n.notes(); len(notes) > 0 {
		t.Errorf("on record is %q", notes)
	}
}
