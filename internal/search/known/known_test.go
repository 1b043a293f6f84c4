package known_test

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"callgate/internal/search/known"
	"callgate/internal/search/known/build"
	"callgate/tool"
)

const (
	issue = "Create a new issue in a GitHub repository, with a title and a body."
	jira  = "Create a Jira ticket of a project. Fields are summary, priority and assignee."
)

func table(t testing.TB, tools ...build.Tool) *known.Table {
	t.Helper()
	data, err := build.Encode(tools)
	if err != nil {
		t.Fatal(err)
	}
	x, err := known.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestAToolIsKnownByNameAndDescription(t *testing.T) {
	t.Parallel()
	x := table(t,
		build.Tool{Server: "github", Name: "create_issue", Description: issue, Requests: []string{"report a bug", "melde einen Fehler"}},
		build.Tool{Server: "jira", Name: "create_issue", Description: jira, Requests: []string{"open a ticket"}},
		build.Tool{Server: "x", Name: "ping", Description: "Ping.", Requests: []string{"is it there"}},
		build.Tool{Server: "x", Name: "silent", Description: issue},
	)
	bug, ticket := []string{"report a bug", "melde einen Fehler"}, []string{"open a ticket"}
	for _, test := range []struct {
		what, name, description string
		want                    []string
	}{
		{"equal", "create_issue", issue, bug},
		{"the other of its name", "create_issue", jira, ticket},
		{"another spelling of the name", "Create-Issue", issue, bug},
		{"a reworded description", "create_issue", "Creates a new issue in a GitHub repository with title and body", bug},
		{"a word more", "create_issue", strings.Replace(issue, "new issue", "brand new issue", 1), bug},
		{"a continued description", "create_issue", issue + strings.Repeat(" Returns the number of the issue.", 9), bug},
		{"another description", "create_issue", "Deletes every repository of the organisation, for good.", nil},
		{"no description", "create_issue", "", nil},
		{"the description of another tool", "close_issue", issue, nil},
		{"too few words to be known", "ping", "Ping.", nil},
		{"no requests", "silent", issue, nil},
		{"no name", "", issue, nil},
		{"bytes that are no text", "\xff\xfe", "\xff\xfe \x00 \xff", nil},
		{"a megabyte", "create_issue", strings.Repeat("word ", 200_000), nil},
	} {
		if got := x.Requests(test.name, test.description); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.what, got, test.want)
		}
	}
}

// Requests of tools that cannot be told apart are put together, and no tool has more than a
// search reads.
func TestTwinsShareTheirRequests(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 30 {
		many = append(many, strings.Repeat("x", i+1)+" \n "+"y")
	}
	x := table(t, build.Tool{Name: "a", Description: issue, Requests: []string{"one", "one", " "}},
		build.Tool{Name: "A", Description: issue, Requests: many})
	got := x.Requests("a", issue)
	if len(got) != 16 || got[0] != "one" || got[1] != "x y" || x.Len() != 1 {
		t.Errorf("%d tools, requests %q", x.Len(), got)
	}
}

// Every tool of own.tsv is found in the file that the program carries, whoever serves it, also
// when memory was freed.
func TestTheFileHoldsOurOwnRequests(t *testing.T) {
	t.Parallel()
	f, err := os.Open("own.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	own, err := build.ReadOwn(f)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range own {
		if i == len(own)/2 {
			runtime.GC()
		}
		found := known.Requests(&tool.Tool{
			ID: tool.ID{Namespace: "mcp_renamed", Name: o.Name}, Spec: tool.Spec{Description: o.Description},
		})
		if _, ok := known.NewSketch(o.Description); !ok {
			t.Errorf("%s of %s has a description that cannot be recognised", o.Name, o.Server)
		} else if !slices.Contains(found, o.Requests[0]) {
			t.Errorf("%s of %s has the requests %q", o.Name, o.Server, found)
		}
	}
	if len(own) < 200 {
		t.Errorf("%d tools", len(own))
	}
}

func TestTheFileIsSmall(t *testing.T) {
	t.Parallel()
	info, err := os.Stat("known.bin")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("known.bin")
	if err != nil {
		t.Fatal(err)
	}
	x, err := known.Open(data)
	if err != nil || info.Size() > 2<<20 || x.Len() < 6000 {
		t.Errorf("%d bytes, error %v", info.Size(), err)
	}
}

// Whatever a file holds, it is refused or read within bounds.
func FuzzOpen(f *testing.F) {
	good, err := build.Encode([]build.Tool{
		{Server: "a", Name: "create_issue", Description: issue, Requests: []string{"report a bug"}},
		{Server: "b", Name: "create_issue", Description: jira, Requests: []string{"open a ticket"}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)-3])
	f.Add([]byte(known.Magic + "\xff\xff\xff\xff\xff\xff\xff\xff"))
	for i := range good {
		damaged := slices.Clone(good)
		damaged[i] ^= 0xff
		f.Add(damaged)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := known.Open(data)
		if err != nil {
			if tool.KindOf(err) != tool.Invalid {
				t.Errorf("%v", err)
			}
			return
		}
		for _, description := range []string{issue, jira} {
			if got := x.Requests("create_issue", description); len(strings.Join(got, "")) > known.MaxBlock {
				t.Errorf("%d requests", len(got))
			}
		}
	})
}

func BenchmarkRequests(b *testing.B) {
	unknown := &tool.Tool{ID: tool.ID{Name: "create_issue"}, Spec: tool.Spec{Description: "Deletes every repository there is."}}
	for b.Loop() {
		known.Requests(unknown)
	}
}
