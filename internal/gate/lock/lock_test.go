package lock_test

import (
	"encoding/json"
	"strings"
	"testing"

	"callgate/internal/gate/lock"
	"callgate/tool"
)

// claims parses "X file:/a, S db:main".
func claims(text string) []tool.Claim {
	var all []tool.Claim
	for one := range strings.SplitSeq(text, ", ") {
		mode, resource, _ := strings.Cut(one, " ")
		c := tool.Claim{Resource: resource}
		if err := c.Mode.UnmarshalText([]byte(mode)); err != nil {
			panic(err)
		}
		all = append(all, c)
	}
	return all
}

// enqueue adds a request of a call to the queue; text gives its claims.
func enqueue(tb testing.TB, table *lock.Table, call, text string) *lock.Ticket {
	tb.Helper()
	ticket, err := table.Enqueue(lock.Request{Claims: claims(text), Holder: lock.Holder{Call: call}})
	if err != nil {
		tb.Fatal(err)
	}
	return ticket
}

// acquire takes locks that must be granted at once.
func acquire(tb testing.TB, table *lock.Table, call, text string) *lock.Lease {
	tb.Helper()
	request := lock.Request{Claims: claims(text), Holder: lock.Holder{Call: call}, Wait: -1}
	lease, err := table.Acquire(tb.Context(), request)
	if err != nil {
		tb.Fatal(err)
	}
	return lease
}

// passes reports whether a request would be granted now, and leaves no trace.
func passes(tb testing.TB, table *lock.Table, text string) bool {
	tb.Helper()
	lease, err := table.Acquire(tb.Context(), lock.Request{Claims: claims(text), Wait: -1})
	if err == nil {
		lease.Release()
		return true
	}
	if tool.KindOf(err) != tool.Busy {
		tb.Fatal(err)
	}
	return false
}

// empty checks that the table holds no lock and no node.
func empty(tb testing.TB, table *lock.Table) {
	tb.Helper()
	nodes, err := table.Audit()
	if err != nil {
		tb.Error(err)
	}
	view, _ := json.Marshal(table.Snapshot())
	if string(view) != `{"held":[],"waiting":[]}` || nodes != 0 {
		tb.Errorf("the table should be empty, and has %d nodes: %s", nodes, view)
	}
}

// matrix lists for each mode the modes it allows beside it, as tool.Mode documents.
var matrix = map[string]string{
	"IS": "IS IX S U",
	"IX": "IS IX",
	"S":  "IS S U",
	"U":  "IS S",
	"X":  "",
}

var modes = []string{"IS", "IX", "S", "U", "X"}

// passing returns the modes that would be granted on a resource.
func passing(tb testing.TB, table *lock.Table, resource string) string {
	tb.Helper()
	var pass []string
	for _, mode := range modes {
		if passes(tb, table, mode+" "+resource) {
			pass = append(pass, mode)
		}
	}
	return strings.Join(pass, " ")
}

func TestModesFollowTheMatrix(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			table := lock.New()
			lease := acquire(t, table, "first", mode+" file:/a")
			if got := passing(t, table, "file:/a"); got != matrix[mode] {
				t.Errorf("beside %s pass %q, want %q", mode, got, matrix[mode])
			}
			lease.Release()
			empty(t, table)
		})
	}
}

// One request holds held; the test asks which modes another may have elsewhere.
func TestLocksCoverTheTree(t *testing.T) {
	t.Parallel()
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
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			table := lock.New()
			lease := acquire(t, table, "first", test.held)
			if got := passing(t, table, test.resource); got != test.pass {
				t.Errorf("beside %s pass %q on %s, want %q", test.held, got, test.resource, test.pass)
			}
			lease.Release()
			empty(t, table)
		})
	}
}

// Claims of one request that meet at a node together exclude what each excludes
// alone, in any order.
func TestClaimsOfOneRequestJoin(t *testing.T) {
	t.Parallel()
	for _, a := range modes {
		for _, b := range modes {
			t.Run(a+" and "+b, func(t *testing.T) {
				var want []string
				for _, mode := range modes {
					if has(matrix[a], mode) && has(matrix[b], mode) {
						want = append(want, mode)
					}
				}
				table := lock.New()
				lease := acquire(t, table, "first", a+" file:/a, "+b+" file:/a/")
				if got := passing(t, table, "file:/a"); got != strings.Join(want, " ") {
					t.Errorf("beside %s and %s pass %q, want %q", a, b, got, want)
				}
				lease.Release()
				empty(t, table)
			})
		}
	}
}

func has(list, word string) bool { return strings.Contains(" "+list+" ", " "+word+" ") }

func TestRequestReadsAFolderAndWritesOneFile(t *testing.T) {
	t.Parallel()
	table := lock.New()
	lease := acquire(t, table, "first", "S file:/w, X file:/w/a")
	for text, want := range map[string]bool{
		"S file:/w":   false, // would read a while it changes
		"U file:/w":   false,
		"S file:/w/a": false,
		"X file:/w/b": false, // would change what the first reads
		"S file:/w/b": true,
		"IS file:/w":  true,
		"X file:/v":   true,
	} {
		if got := passes(t, table, text); got != want {
			t.Errorf("%s passes: %v, want %v", text, got, want)
		}
	}
	lease.Release()
	empty(t, table)
}

func TestInvalidClaimsAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		claim tool.Claim
	}{
		{"no mode", tool.Claim{Resource: "file:/a"}},
		{"unknown mode", tool.Claim{Resource: "file:/a", Mode: 9}},
		{"no resource", tool.Claim{Mode: tool.S}},
		{"no kind", tool.Claim{Resource: "/a/b", Mode: tool.S}},
		{"empty kind", tool.Claim{Resource: ":a", Mode: tool.S}},
		{"too long", tool.Claim{Resource: "file:" + strings.Repeat("/a", 1<<20), Mode: tool.S}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			table := lock.New()
			request := lock.Request{Claims: []tool.Claim{{Resource: "file:/ok", Mode: tool.X}, test.claim}}
			if _, err := table.Enqueue(request); tool.KindOf(err) != tool.Invalid {
				t.Errorf("Enqueue: %v, want an Invalid", err)
			} else if len(err.Error()) > 1000 {
				t.Errorf("the error is %d bytes long", len(err.Error()))
			}
			if _, err := table.Acquire(t.Context(), request); tool.KindOf(err) != tool.Invalid {
				t.Errorf("Acquire: %v, want an Invalid", err)
			}
			empty(t, table)
		})
	}
}

func TestRequestWithoutClaimsHoldsNothing(t *testing.T) {
	t.Parallel()
	table := lock.New()
	all := acquire(t, table, "first", "X file:, X db:")
	lease, err := table.Acquire(t.Context(), lock.Request{})
	if err != nil {
		t.Fatal(err)
	}
	ticket, err := table.Enqueue(lock.Request{})
	if err != nil {
		t.Fatal(err)
	}
	queued, err := ticket.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(table.Snapshot().Held); n != 2 {
		t.Errorf("%d claims are held, want the 2 of the first", n)
	}
	ctx, cancel := lease.WithExpiry(t.Context(), 0)
	if ctx.Err() != nil {
		t.Error("the context of a lease without expiry is done at once")
	}
	cancel()
	lease.Release()
	queued.Release()
	all.Release()
	empty(t, table)
}

func TestManyChildrenOfOneNodeAreKeptApart(t *testing.T) {
	t.Parallel()
	table := lock.New()
	var leases []*lock.Lease
	names := func(i int) string { return "file:/w/" + strings.Repeat("n", i%100+1) + string(rune('a'+i/100)) }
	const n = 2000
	for i := range n {
		leases = append(leases, acquire(t, table, "many", "X "+names(i)))
	}
	if nodes, err := table.Audit(); err != nil || nodes != n+2 {
		t.Fatalf("%d nodes (%v), want %d", nodes, err, n+2)
	}
	for i := range n {
		if passes(t, table, "S "+names(i)) {
			t.Fatalf("%s is held, and was granted again", names(i))
		}
	}
	for i, lease := range leases {
		lease.Release()
		if !passes(t, table, "X "+names(i)) {
			t.Fatalf("%s was released, and is not granted", names(i))
		}
	}
	empty(t, table)
}
