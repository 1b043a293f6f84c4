package console_test

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/template/parse"

	"callgate/internal/kernel/kerneltest"
)

func TestAToolIsFoundAndCalled(t *testing.T) {
	t.Parallel()
	s := asking(t)
	s.wants(s.get("/tools"), "filesystem.read", "by name")
	s.wants(s.get("/tools?q=supprimer+un+fichier"), "filesystem.delete", `class="why"`)
	s.wants(s.get("/tools?q=zzqqxx+yyzz"), "zzqqxx")
	s.wants(s.get("/tools/filesystem.read"), `name="arg.path"`, "Input schema", "Call through the gate")
	s.wants(s.post("/tools/filesystem.read", url.Values{"arg.path": {"a.txt"}}), "success", "two", "its record")
	s.wants(s.post("/tools/filesystem.read", url.Values{"arg.path": {"nosuch.txt"}}), "nosuch.txt", `role="alert"`)
	s.wants(s.post("/tools/filesystem.write", url.Values{"arg.path": {"a.txt"}, "arg.content": {"x"}}),
		"A human is asked first", `href="/approvals/`)
	s.wants(s.post("/tools/filesystem.read", url.Values{"arg.path": {"a.txt"}, "arg.limit": {"many"}}), "is not a number")
}

// A part of a page is what the script asks for.
func TestThePartForTheScript(t *testing.T) {
	t.Parallel()
	s := asking(t)
	req, err := http.NewRequest(http.MethodGet, s.server.URL+"/tools?q=read", nil)
	kerneltest.OK(t, err)
	req.Header.Set("Callgate-Fragment", "1")
	r, err := s.server.Client().Do(req)
	page := s.read(r, err, http.StatusOK)
	if strings.Contains(page, "<html") || !strings.Contains(page, `id="found"`) {
		t.Errorf("got %s", page)
	}
}

func TestTheJournalIsPagedAndFiltered(t *testing.T) {
	t.Parallel()
	s := asking(t)
	for i := range 60 {
		s.call("filesystem.read", `{"path":"a.txt","head":`+strconv.Itoa(i+1)+`}`)
	}
	s.call("filesystem.read", `{"path":"nosuch.txt"}`)
	waits := s.waiting("filesystem.write", `{"path":"a.txt","content":"x"}`)
	calls := regexp.MustCompile(`href="/calls/([^"]+)"`)
	first := s.get("/journal")
	if n := len(calls.FindAllString(first, -1)); n != 50 {
		t.Errorf("the first page has %d calls", n)
	}
	seen := map[string]int{}
	for page := "/journal"; page != ""; {
		text := s.get(page)
		for _, m := range calls.FindAllStringSubmatch(text, -1) {
			seen[m[1]]++
		}
		next := regexp.MustCompile(`href="(/journal\?before=\d+)"`).FindStringSubmatch(text)
		if page = ""; next != nil {
			page = next[1]
		}
	}
	for call, n := range seen {
		if n != 1 {
			t.Errorf("%s is listed %d times", call, n)
		}
	}
	if len(seen) != 62 {
		t.Errorf("%d calls are listed of 62", len(seen))
	}
	for filter, want := range map[string]int{
		"state=failed": 1, "state=waiting": 1, "tool=write": 1, "session=" + waits.Call: 1, "tool=nosuch": 0, "since=2000-01-01": 50,
	} {
		if n := len(calls.FindAllString(s.get("/journal?"+filter), -1)); n != want {
			t.Errorf("%s lists %d calls, want %d", filter, n, want)
		}
	}
	s.wants(s.get("/calls/"+calls.FindStringSubmatch(s.get("/journal?state=failed"))[1]), "asked, and allowed, and ended: error")
	s.wants(s.fails("/journal?since=soon", http.StatusBadRequest), "write it as 2h")
	s.wants(s.post("/journal/verify", nil), "The journal is whole")
}

func TestThePlanIsAPicture(t *testing.T) {
	t.Parallel()
	s := asking(t)
	s.wants(s.get("/plan"), "<svg", "direct", "compact_direct", "discovery", "budget", "chosen", "The dearest definitions")
	s.wants(s.get("/plan?window=2000"), "over budget", "from flag")
}

func TestUndoShowsFirst(t *testing.T) {
	t.Parallel()
	s := open(t, folder(t, map[string]string{"a.txt": "one\n"}))
	done := s.call("filesystem.write", `{"path":"a.txt","content":"two\n"}`)
	s.wants(s.get("/calls/"+done.Call), "Undo what it changed")
	page := s.get("/undo?call=" + done.Call)
	s.wants(page, `<span class="del">-two`, `<span class="add">&#43;one`, "Put them back")
	shown := regexp.MustCompile(`name="shown" value="([^"]*)"`).FindStringSubmatch(page)[1]
	s.post("/undo", url.Values{"call": {done.Call}, "shown": {shown}})
	s.has("a.txt", "one\n")
}

// A live page brings what waits as it comes, and what it shows of it.
func TestAPageIsLive(t *testing.T) {
	t.Parallel()
	s := asking(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.server.URL+"/live/approvals", nil)
	kerneltest.OK(t, err)
	r, err := s.server.Client().Do(req)
	kerneltest.OK(t, err)
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, 1<<20)
	until := func(text string) {
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("the stream ends without %q: %v", text, lines.Err())
	}
	until("data: []")
	until("No call waits for a yes")
	asked := s.waiting("filesystem.write", `{"path":"a.txt","content":"x"}`)
	until(asked.Approval)
	until("choose filesystem.write")
	s.fails("/live/nosuch", http.StatusNotFound)
}

// showing are the functions through which templates may show something, each of which makes
// visible what is hidden or shows what cannot hide anything.
const showing = " text tool lines clip json args brief number of ago left stamp iso span path query file plus class coord " +
	"dollars workname rows last firstline mode manual "

// Every place where a template shows something goes through one of the functions for that.
func TestTemplatesShowEverythingMadeVisible(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("templates/*.html")
	kerneltest.OK(t, err)
	shared, err := filepath.Glob("templates/shared/*.html")
	kerneltest.OK(t, err)
	checked := 0
	for _, file := range append(files, shared...) {
		data, err := os.ReadFile(file)
		kerneltest.OK(t, err)
		tree := parse.New(file)
		tree.Mode = parse.SkipFuncCheck
		trees := map[string]*parse.Tree{}
		_, err = tree.Parse(string(data), "{{", "}}", trees)
		kerneltest.OK(t, err)
		for _, one := range trees {
			walk(one.Root, func(n *parse.ActionNode) {
				if len(n.Pipe.Decl) > 0 {
					return
				}
				checked++
				last := n.Pipe.Cmds[len(n.Pipe.Cmds)-1]
				name, ok := last.Args[0].(*parse.IdentifierNode)
				if !ok || !strings.Contains(showing, " "+name.Ident+" ") {
					t.Errorf("%s shows %s as it is", file, n)
				}
			})
		}
	}
	if checked < 100 {
		t.Errorf("only %d places were found: the walk is broken", checked)
	}
}

// walk visits the actions below a node.
func walk(n parse.Node, visit func(*parse.ActionNode)) {
	branch := func(b parse.BranchNode) {
		walk(b.List, visit)
		if b.ElseList != nil {
			walk(b.ElseList, visit)
		}
	}
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, one := range n.Nodes {
				walk(one, visit)
			}
		}
	case *parse.ActionNode:
		visit(n)
	case *parse.IfNode:
		branch(n.BranchNode)
	case *parse.RangeNode:
		branch(n.BranchNode)
	case *parse.WithNode:
		branch(n.BranchNode)
	}
}

// The documentation is among the pages, with the links between its pages and its pictures.
func TestTheDocumentationIsShown(t *testing.T) {
	t.Parallel()
	s := open(t, folder(t, nil))
	s.wants(s.get("/docs"), `<a href="/docs" aria-current="page"`, "Ten questions", `href="/docs/cookbook#doc-undo-what-it-did"`)
	s.wants(s.get("/docs/cookbook"), `id="doc-undo-what-it-did"`, `<a href="/docs">Docs</a>`, "callgate undo --redo")
	s.wants(s.get("/docs/search"), `src="/docs/pictures/search-quality.svg"`)
	s.wants(s.get("/docs/pictures/search-quality.svg"), "<svg")
	for _, page := range []string{"/docs/nosuch", "/docs/pictures/nosuch.svg", "/docs/pictures/..%2fdocs.go", "/docs/..%2f..%2fgo.mod"} {
		s.wants(s.fails(page, http.StatusNotFound), "the documentation has no")
	}
}
