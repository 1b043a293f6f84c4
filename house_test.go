package callgate_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"callgate/internal/house"
)

// rules are the rules of docs/ARCHITECTURE.md. Package house documents each kind
// of rule, and its tests prove that each kind fires. No rule limits a size.
var rules = house.Rules{
	Layers: [][]string{
		{"tool", "docs", "internal/nearest", "internal/version", "internal/house", "internal/feed", "internal/durable",
			"internal/amount", "internal/fileid", "internal/lazyregexp", "internal/linediff", "internal/memtrim",
			"internal/nofollow", "internal/nowait", "internal/ownership", "internal/safehtml", "internal/visible",
			"internal/module/filesystem/pathglob", "internal/module/filesystem/patchfile",
			"internal/module/filesystem/ignorefile", "internal/module/database/rowset",
			"internal/source/prompted/template", "internal/provider/queue", "internal/observe/metric", "internal/programtest",
			"internal/weburl", "internal/secretfile", "internal/gate/autorun"},
		{"internal/secret/scope"},
		{"llm", "llmtool", "internal/user", "internal/module/database/sqltext", "internal/signing", "internal/source/prompted/answer", "internal/secret", "internal/statedir", "internal/document", "internal/peer", "internal/unfinished",
			"internal/resulttext", "internal/condition", "internal/fence", "internal/mimemail", "internal/question", "internal/gate/shellcmd",
			"internal/script", "internal/observe", "internal/module/filesystem/textfile",
			"internal/module/filesystem/ignorefile"},
		{"internal/protocol", "internal/tempdir", "internal/hook", "internal/module/database/engine"},
		{"internal/launch"},
		{"internal/search/embed", "internal/search/lexical", "internal/search/embedapi", "internal/search/vectorcache",
			"internal/search/wordcache", "internal/search/phrasing",
			"internal/search/eval", "internal/module/database/sqlite"},
		{"internal/gate/match", "internal/gate/binding", "internal/search/secondlook"},
		{"internal/search", "internal/registry", "internal/journal", "internal/artifact", "internal/sandbox",
			"internal/netguard", "internal/markdown", "internal/task", "internal/schedule", "internal/token",
			"internal/agent/surface", "internal/agent/calltext",
			"internal/agent/filter", "internal/conversation/history", "internal/conversation/prompt",
			"internal/conversation/instructions", "internal/conversation/environment",
			"internal/conversation/compact", "internal/gate/schema", "internal/gate/policy", "internal/gate/approval",
			"internal/provider/catalog",
			"internal/gate/lock", "internal/gate/rulefiles", "internal/serverlock", "internal/watch", "internal/app/node", "internal/provider/budget", "internal/quota",
			"internal/source/prompted/builtin"},
		{"internal/pdftext"},
		{"internal/doctext", "internal/gate/order", "internal/gate/lockqueue", "internal/gate/detach", "internal/gate/argname", "internal/skill", "internal/module", "internal/channel", "toolcatalog", "internal/modeluse", "internal/observe/callcount", "internal/stats", "internal/search/learned"}, // with workfile and fetch, which modules share
		{"internal/module/filesystem/textedit", "internal/module/filesystem/filewalk"},
		{"internal/module/filesystem/filewalk"},
		{"internal/search/bench", "internal/agent/bench", "internal/agent", "internal/provider", "internal/control",
			"internal/source/mcp", "internal/source/openapi", "internal/source/prompted",
			"internal/llmbench",
			"internal/source/executable", "internal/gate", "internal/undo", "internal/app", "internal/module/filesystem",
			"internal/module/shell", "internal/module/http", "internal/module/web", "internal/module/browser",
			"internal/module/database", "internal/module/git", "internal/module/memory", "internal/module/clock", "internal/module/agentspawn",
			"internal/module/email", "internal/module/calendar", "internal/module/contacts", "internal/module/image", "internal/module/notion", "internal/module/speech", "internal/module/preview", "internal/module/widget", "internal/module/llmprovider", "internal/module/workspace", "internal/module/queue",
			"internal/module/lsp", "internal/module/rag"},
		{"internal/storage", "internal/importer", "toolcatalog/remote", "internal/proposal"},
		{"internal/storage/sqlite", "internal/storage/postgres", "internal/storage/storagetest", "internal/storage/unread"},
		{"internal/storage/moving", "internal/kernel/sharedlocks", "internal/kernel/shares"},
		{"internal/client", "internal/kernel/background", "internal/kernel/consent", "internal/kernel/modules",
			"internal/kernel/grants", "internal/kernel/modelset", "internal/kernel/clients", "internal/kernel/servers", "internal/kernel/tasks",
			"internal/kernel/skillruns", "internal/kernel/users", "internal/kernel/usersecrets", "internal/kernel/questions", "internal/kernel/signatures", "internal/kernel/retention", "internal/kernel/node"},
		{"internal/kernel/skills", "internal/kernel/secrets", "internal/kernel/llmtools", "internal/kernel/catalogs"},
		{"internal/kernel/apps", "internal/kernel/toolview", "internal/kernel/hooks"},
		{"internal/kernel/session", "internal/kernel/trial"},
		{"internal/kernel/deferred"},
		{"internal/kernel/recovery", "internal/kernel/mcptools", "internal/kernel/results", "internal/kernel/backgroundcalls", "internal/kernel/parallelcalls", "internal/kernel/scripts", "internal/kernel/permissions", "internal/kernel/channels",
			"internal/kernel/undoing", "internal/kernel/schedules", "internal/kernel/watchers", "internal/kernel/proposals", "internal/conversation"},
		{"internal/kernel/triggers", "internal/kernel/agents", "internal/kernel/chains", "internal/kernel/adoption"},
		{"internal/kernel"},
		{"internal/kernel/kerneltest"},
		{"internal/daemon/mcpserver/mcpresult", "internal/daemon/mcpserver/question", "internal/daemon/mcpserver/requestbody",
			"internal/daemon/mcpserver/route", "internal/daemon/mcpserver/subscriptions", "internal/daemon/mcpserver/tooldef"},
		{"internal/daemon/mcpserver/calls", "internal/daemon/mcpserver/items"},
		{".", "internal/acp", "internal/daemon", "internal/tui"},
		{"internal/cli"},
		{"cmd/callgate", "scripts"},
	},
	Forbidden: []house.Forbidden{
		{Import: "database/sql", Only: sql, Why: "the kernel's SQL stays in storage"},
		{Import: "modernc.org/sqlite", Only: sql, Why: "the kernel's SQL stays in storage"},
		{Import: "github.com/jackc/pgx", Only: sql, Why: "the kernel's SQL stays in storage"},
		{Import: "github.com/go-sql-driver/mysql", Only: sql, Why: "the kernel's SQL stays in storage"},
		{Import: "github.com/openai", Why: "one POST and an event stream need no SDK"},
		{Import: "github.com/anthropics", Why: "one POST and an event stream need no SDK"},
		{Import: "charm.land", Only: []string{"internal/tui"}, Why: "one room draws the terminal"},
		{Import: "github.com/coder/acp-go-sdk", Only: []string{"internal/acp", "internal/cli"}, Why: "one face speaks to editors"},
		{Import: "mvdan.cc/sh", Only: []string{"internal/gate/shellcmd"}, Why: "one package reads command lines"},
		{Import: "aead.dev/minisign", Only: []string{"internal/signing"}, Why: "one package signs and checks signatures"},
		{Import: "github.com/chromedp", Only: []string{"internal/module/browser", "internal/daemon/console"},
			Why: "one module drives the browser, and the tests of the console look at its pages"},
		{Import: "github.com/getkin/kin-openapi", Only: []string{"internal/source/openapi"}, Why: "one room reads OpenAPI documents"},
		{Import: "github.com/yuin/goldmark", Only: []string{"internal/daemon/console/manual"}, Why: "one package shows Markdown as HTML"},
		{Import: "github.com/fsnotify", Only: []string{"internal/kernel/watchers"}, Why: "one package listens to the file system"},
		{Import: "github.com/spf13/cobra", Only: []string{"internal/cli", "scripts/manual"},
			Why: "only the command line parses commands; its manual is made from them"},
		{Import: "net/http", Why: "HTTP is the business of the faces, and of what is reached over it", Only: []string{
			"internal/protocol", "internal/client", "internal/daemon", "internal/search/embedapi", "internal/source/mcp", "internal/source/openapi",
			"internal/netguard", "internal/module/fetch", "internal/module/dav", "internal/module/http", "internal/module/web", "internal/module/browser", "internal/module/notion", "internal/module/speech", "internal/module/preview",
			"internal/provider", "internal/agent/bench", "internal/kernel/kerneltest", "internal/channel", "internal/signing/signingtest",
			"toolcatalog/remote", "scripts", "internal/observe/otlp"}},
		{Import: "github.com/riverqueue", Only: []string{"internal/storage/postgres"},
			Why: "one driver has jobs carried by River"},
		{Import: "go.opentelemetry.io", Only: []string{"internal/observe/otlp"}, Why: "one package speaks to collectors"},
		{Import: "google.golang.org/protobuf", Only: []string{"internal/observe/otlp"}, Why: "one package speaks to collectors"},
		{Import: "github.com/wneessen/go-mail", Only: []string{"internal/channel/email", "internal/module/email"},
			Why: "one adapter and one module send mail"},
		{Import: "github.com/emersion", Only: []string{"internal/channel/mailbox", "internal/channel/channeltest", "internal/module/email",
			"internal/module/calendar"}, Why: "one adapter and one module read mailboxes, one reads calendars"},
		{Import: "github.com/modelcontextprotocol", Only: []string{"internal/source/mcp", "internal/daemon/mcpserver",
			"scripts/gatebench"},
			Why: "MCP is spoken where servers are reached, and where clients are; and by a forwarder to compare with"},
		{Import: "callgate/internal/gate", Exact: true, Only: []string{"internal/kernel", "internal/conversation"},
			Why: "the gate is reached through the kernel"},
		{Import: "callgate/internal/kernel", Only: []string{".", "internal/daemon", "internal/kernel", "internal/conversation"},
			Why: "front ends reach the kernel through internal/client"},
		{Import: "callgate/internal/storage/sqlite", Why: "the kernel chooses the driver, and moving copies between two",
			Only: []string{"internal/kernel", "internal/storage/sqlite", "internal/storage/moving"}},
		{Import: "callgate/internal/storage/postgres", Why: "the kernel chooses the driver, and moving copies between two",
			Only: []string{"internal/kernel", "internal/storage/postgres", "internal/storage/moving"}},
		{Import: "callgate/internal/sandbox/selfstart", Only: []string{".", "cmd/callgate", "internal/kernel/kerneltest"},
			Why: "importing it changes what a program is, which is for main, for the public package and for tests to say"},
		{Import: "callgate/internal/daemon", Exact: true, Why: "few commands start a kernel; the rest are its clients",
			Only: []string{".", "internal/daemon", "internal/cli/command", "internal/cli/machine", "internal/cli/bridge"}},
		{Import: "callgate/internal/daemon/wire", Only: []string{"internal/daemon", "internal/cli/journal"},
			Why: "bodies are made where they are sent"},
		{Import: "callgate/internal/house", Only: []string{"scripts"}, Why: "nothing that ships measures itself"},
	},
	Public: []string{".", "tool", "llm", "llmtool", "toolcatalog", "toolcatalog/remote"},
	TestsNeed: []house.TestsNeed{
		{Import: "callgate/internal/sandbox", Needs: "callgate/internal/sandbox/selfstart",
			Except: "internal/sandbox/launcher", // whose tests are those of a program without a helper
			Why:    "without a helper they would find no sandbox, and be skipped"},
	},
	ForbiddenCalls: []house.ForbiddenCall{
		{Import: "os", Name: "Rename", Why: "a file is replaced by internal/durable, which says what survives a crash",
			Only: []string{"internal/durable", "internal/module/web/pagecache"}}, // a cache need not survive one
		{Import: "os/exec", Name: "Command", Only: starters, Why: starts},
		{Import: "os/exec", Name: "CommandContext", Only: starters, Why: starts},
		{Import: "os/exec", Name: "Cmd", Only: starters, Why: starts, Literal: true},
		{Import: "os", Name: "StartProcess", Only: starters, Why: starts},
		{Import: "context", Name: "WithValue", Why: "what a function needs stands in its signature",
			Only: []string{"internal/daemon/httpapi", "internal/source/mcp/oauth", // net/http and oauth2 offer nothing else
				"internal/observe"}}, // a trace goes where a context goes
	},
	ForbiddenInTests: []house.ForbiddenCall{
		{Import: "time", Name: "Sleep", Why: "a test waits for what happens: a channel, a bubble's clock, a condition"},
	},
	BadNames:    []string{"util", "utils", "common", "helpers", "types", "models", "misc"},
	Unshipped:   []string{"scripts"},
	HandlerRoom: "internal/gate",
}

// starters are the folders that may start processes: one package decides where they start and with which
// environment, the sandbox and its launcher run what others describe, and the rest helps tests or does not ship.
var starters = []string{"internal/launch", "internal/sandbox", "scripts", "internal/house", "internal/programtest",
	"internal/netguard/netguardtest", "internal/peer/terminaltest", "internal/module/database/enginetest",
	"internal/module/dav/davtest", "internal/module/git/gittest", "internal/module/email/mailtest"}

const starts = "internal/launch decides where a process starts, and with which environment"

// sql lists the folders that may use SQL: the storage drivers, the database
// module, and the index of the rag module, which can be rebuilt at any time.
var sql = []string{"internal/storage/sqlite", "internal/storage/postgres", "internal/module/database",
	"internal/module/rag/chunkstore"}

func TestRules(t *testing.T) {
	tree, err := house.Read(".", "callgate")
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Files) < 100 {
		t.Fatalf("only %d source files found: the walk is broken", len(tree.Files))
	}
	for _, p := range rules.Check(tree) {
		t.Error(p)
	}
}

var (
	namedPath = regexp.MustCompile("`((?:internal|tool|llm|llmtool|toolcatalog|cmd|docs|scripts|model|examples)/[A-Za-z0-9_./*-]*|[a-z_]+\\.go|Makefile)`")
	linked    = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	code      = regexp.MustCompile("(?ms)^```.*?^```$")
)

func TestPathsNamedInDocsExist(t *testing.T) {
	docs, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	guides, _ := filepath.Glob("docs/guides/*.md")
	checked := 0
	for _, doc := range slices.Concat(docs, guides, []string{"README.md", "CHANGELOG.md"}) {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range namedPath.FindAllSubmatch(text, -1) {
			checked++
			if !exists(string(m[1])) {
				t.Errorf("%s names %s, which does not exist", doc, m[1])
			}
		}
		for _, m := range linked.FindAllSubmatch(code.ReplaceAll(text, nil), -1) {
			checked++
			if !exists(filepath.Join(filepath.Dir(doc), string(m[1]))) {
				t.Errorf("%s links to %s, which does not exist", doc, m[1])
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d paths found in the docs: the pattern is broken", checked)
	}
}

func exists(name string) bool {
	found, err := filepath.Glob(filepath.FromSlash(strings.TrimSuffix(name, "/")))
	return err == nil && len(found) > 0
}
