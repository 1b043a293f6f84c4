package scripts_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/internal/kernel"
	"callgate/internal/kernel/kerneltest"
)

// work is one piece of work, done call by call and by a script. Calls of one answer are
// made side by side, as a good model writes them.
type work struct {
	name   string
	calls  func(w *workshop) [][]string // the answers, each with its calls
	script string
	want   string // the script's result
}

// workshop is what the work is about: files, a database, pages on loopback.
type workshop struct {
	folder, url string
	last        string // the last result that the model was told
}

func newWorkshop(t testing.TB) *workshop {
	t.Helper()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	kerneltest.OK(t, err)
	w := &workshop{folder: folder}
	write := func(name, text string) { kerneltest.Write(t, filepath.Join(folder, name), text) }
	var table strings.Builder
	table.WriteString("id,region,amount\n")
	for i := range 400 {
		fmt.Fprintf(&table, "%d,%s,%d\n", i, []string{"north", "south", "east"}[i%3], i*7%100)
	}
	write("sales.csv", table.String())
	for i := range 12 {
		write(fmt.Sprintf("src/file%02d.txt", i), strings.Repeat(fmt.Sprintf("line of file %d with some words in it\n", i), 20+i)+"TODO mend\n")
		write(fmt.Sprintf("old/n%02d.txt", i), fmt.Sprintf("same %d\n", i))
		write(fmt.Sprintf("new/n%02d.txt", i), fmt.Sprintf("same %d\n", i/11*100+i))
		write(fmt.Sprintf("chain/%d.txt", i), fmt.Sprintf("%s\nnext: chain/%d.txt\n", strings.Repeat("filler text of this step\n", 30), i+1))
		write(fmt.Sprintf("conf/%02d.ini", i), strings.Repeat("# a comment that says little\n", 10)+fmt.Sprintf("timeout = %d\n", i*10))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		page := r.URL.Query().Get("page")
		items := make([]string, 20)
		for i := range items {
			items[i] = fmt.Sprintf(`{"id":"%s-%d","title":"an item with a title of some length","open":%v}`, page, i, i%4 == 0)
		}
		next := "null"
		if page >= "1" && page < "5" {
			next = fmt.Sprintf(`"%c"`, page[0]+1)
		}
		fmt.Fprintf(w, `{"items":[%s],"next":%s}`, strings.Join(items, ","), next)
	}))
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

func each(n int, format string) (calls []string) {
	for i := range n {
		calls = append(calls, fmt.Sprintf(format, i))
	}
	return calls
}

const connect = `database.connect {"driver":"sqlite","database":"shop.db","connection_id":"main"}`

var twelve = []work{
	{"count the lines of 12 files", func(*workshop) [][]string {
		return [][]string{{`filesystem.glob {"pattern":"src/*.txt"}`}, each(12, `filesystem.read {"path":"src/file%02d.txt"}`)}
	}, `paths = filesystem.glob(pattern="src/*.txt")["paths"]
result = {p: r["total_lines"] for p, r in zip(paths, parallel(filesystem.read, paths))}`, `src/file11.txt`},
	{"where TODO stands", func(*workshop) [][]string {
		return [][]string{{`filesystem.grep {"pattern":"TODO","path":"src"}`}}
	}, `result = filesystem.grep(pattern="TODO", path="src")["matches"]`, `12`},
	{"sums of a table of 400 rows", func(*workshop) [][]string {
		return [][]string{{`filesystem.read {"path":"sales.csv"}`}}
	}, `sums = {}
for row in filesystem.read(path="sales.csv", line_numbers=False).splitlines()[1:]:
    cells = row.split(",")
    sums[cells[1]] = sums.get(cells[1], 0) + int(cells[2])
result = sums`, `north`},
	{"change a setting in 12 files", func(*workshop) [][]string {
		edits := make([]string, 12)
		for i := range edits {
			edits[i] = fmt.Sprintf(`filesystem.edit {"path":"conf/%02d.ini","old":"timeout = %d","new":"timeout = %d"}`, i, i*10, i*10+5)
		}
		return [][]string{{`filesystem.glob {"pattern":"conf/*.ini"}`}, each(12, `filesystem.read {"path":"conf/%02d.ini"}`), edits}
	}, `n = 0
for p in filesystem.glob(pattern="conf/*.ini")["paths"]:
    for line in filesystem.read(path=p, line_numbers=False).splitlines():
        if line.startswith("timeout = "):
            filesystem.edit(path=p, old=line, new="timeout = %d" % (int(line[10:]) + 5))
            n += 1
result = n`, `12`},
	{"a chain of 6 files", func(*workshop) [][]string {
		var rounds [][]string
		for _, c := range each(6, `filesystem.read {"path":"chain/%d.txt"}`) {
			rounds = append(rounds, []string{c})
		}
		return rounds
	}, `p = "chain/0.txt"
for i in range(6):
    p = filesystem.read(path=p).split("next: ")[1].strip()
result = p`, `chain/6.txt`},
	{"a database: make, fill, ask", func(*workshop) [][]string {
		rows := make([]string, 60)
		for i := range rows {
			rows[i] = fmt.Sprintf(`{"name":"customer %d","total":%d}`, i%7, i)
		}
		return [][]string{{connect}, {`database.execute_query {"query":"CREATE TABLE orders (name TEXT, total INTEGER)"}`},
			{`database.bulk_insert {"table":"orders","rows":[` + strings.Join(rows, ",") + `]}`},
			{`database.fetch_results {"query":"SELECT name, sum(total) AS s FROM orders GROUP BY name ORDER BY s DESC LIMIT 3"}`}}
	}, `database.connect(driver="sqlite", database="shop.db", connection_id="main")
database.execute_query(query="CREATE TABLE orders (name TEXT, total INTEGER)")
database.bulk_insert(table="orders", rows=[{"name": "customer %d" % (i % 7), "total": i} for i in range(60)])
result = database.fetch_results(query="SELECT name, sum(total) AS s FROM orders GROUP BY name ORDER BY s DESC LIMIT 3")["rows"]`, `customer`},
	{"8 pages, side by side", func(w *workshop) [][]string {
		return [][]string{each(8, `http.get {"url":"`+w.url+`/?page=%d"}`)}
	}, `pages = parallel(lambda n: http.get(url="{{url}}/?page=%d" % n), range(8))
result = len([i for p in pages for i in p["json"]["items"] if i["open"]])`, `40`},
	{"5 pages, one after the other", func(w *workshop) [][]string {
		var rounds [][]string
		for n := range 5 {
			rounds = append(rounds, []string{fmt.Sprintf(`http.get {"url":"%s/?page=%d"}`, w.url, n+1)})
		}
		return rounds
	}, `page, ids = "1", []
while page:
    body = http.get(url="{{url}}/?page=" + page)["json"]
    ids += [i["id"] for i in body["items"] if i["open"]]
    page = body["next"]
result = ids`, `5-16`},
	{"compare two folders", func(*workshop) [][]string {
		return [][]string{{`filesystem.list {"path":"old"}`, `filesystem.list {"path":"new"}`},
			slices.Concat(each(12, `filesystem.read {"path":"old/n%02d.txt"}`), each(12, `filesystem.read {"path":"new/n%02d.txt"}`))}
	}, `names = [e["name"] for e in filesystem.list(path="old")["entries"]]
result = [n for n in names if filesystem.read(path="old/" + n) != filesystem.read(path="new/" + n)]`, `["n11.txt"]`},
	{"one small file", func(*workshop) [][]string {
		return [][]string{{`filesystem.read {"path":"old/n00.txt"}`}}
	}, `result = filesystem.read(path="old/n00.txt")`, `same 0`},
	{"a command for each of 6", func(*workshop) [][]string {
		return [][]string{each(6, `shell.bash {"command":"seq 1 60; test %d -ne 3"}`)}
	}, `result = [i for i in range(6) if not attempt(lambda: shell.bash(command="seq 1 60; test %d -ne 3" % i)).ok]`, `[3]`},
	{"write 10 files", func(*workshop) [][]string {
		return [][]string{each(10, `filesystem.write {"path":"out/%d.md","content":"# Part\n\nThis part is about a subject.\n\n- one\n- two\n"}`)}
	}, `for i in range(10):
    filesystem.write(path="out/%d.md" % i, content="# Part\n\nThis part is about a subject.\n\n- one\n- two\n")
result = "written"`, `written`},
}

// asScript is the work done with one script.
func (one work) asScript(t testing.TB, w *workshop) [][]string {
	t.Helper()
	args, err := json.Marshal(map[string]string{"program": strings.ReplaceAll(one.script, "{{url}}", w.url)})
	kerneltest.OK(t, err)
	return [][]string{{"run_script " + string(args)}}
}

// cost is what a way of doing the work cost.
type cost struct {
	trips int           // requests to the model
	fresh int           // tokens that entered the context: what the model wrote, and what it was told
	total int           // tokens of all requests
	took  time.Duration // of the turn
}

// tokens is about how many tokens a text has.
func tokens(n int) int { return n / 4 }

func (w *workshop) do(t testing.TB, k *kernel.Kernel, answers [][]string) cost {
	t.Helper()
	var script []kerneltest.Answer
	for _, calls := range answers {
		script = append(script, kerneltest.Answer{Calls: calls})
	}
	model := kerneltest.NewModel(t, append(script, kerneltest.Answer{Text: "done"})...)
	kerneltest.Write(t, filepath.Join(w.folder, "callgate.yaml"), `app: {app_id: work}
runtime: {max_turns: 40}
agents: [{id: main, role: assistant, brain: `+model.Brain("openai", "gpt-4o")+`}]
tools:
  modules: {filesystem: {}, shell: {}, database: {}, http: {constraints: {private_hosts: ["127.0.0.1"]}}}
  capabilities: {default_policy: auto}
`)
	c := kerneltest.OpenConversation(t, k, w.folder)
	began := time.Now()
	kerneltest.Send(t, c, "do the work")
	asked := model.Asked()
	got := cost{trips: len(asked), took: time.Since(began)}
	for _, body := range asked {
		got.total += tokens(len(body))
	}
	got.fresh = tokens(len(asked[len(asked)-1]) - len(asked[0]))
	if last := model.Last(); strings.Contains(last, ", column ") || strings.Contains(last, "is not allowed") {
		t.Errorf("%s", last[max(0, len(last)-1500):])
	}
	var body struct {
		Messages []struct{ Content string }
	}
	kerneltest.OK(t, json.Unmarshal(asked[len(asked)-1], &body))
	w.last = body.Messages[len(body.Messages)-1].Content
	return got
}

// TestTwelveScripts does the same work call by call and with one script: real kernel, real
// files, SQLite and HTTP on loopback, a scripted model. With -v it prints the table of
// docs/PERFORMANCE.md. A script takes two round trips whatever the work is; it is offered
// because over all of them it costs less.
func TestTwelveScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it takes a while")
	}
	var all [2]cost
	saved := 0
	k := kerneltest.Open(t, kerneltest.StateDir(t))
	for _, one := range twelve {
		w := newWorkshop(t)
		calls := w.do(t, k, one.calls(w))
		v := newWorkshop(t)
		script := v.do(t, k, one.asScript(t, v))
		t.Logf("| %s | %d | %d | %d | %d | %d | %d | %d | %d |", one.name, calls.trips, script.trips, calls.fresh, script.fresh,
			calls.total, script.total, calls.took.Milliseconds(), script.took.Milliseconds())
		if !strings.Contains(v.last, one.want) {
			t.Errorf("%s: %s", one.name, v.last)
		}
		if script.trips != 2 {
			t.Errorf("%s: %d round trips", one.name, script.trips)
		}
		if script.fresh < calls.fresh {
			saved++
		}
		for i, c := range []cost{calls, script} {
			all[i].trips += c.trips
			all[i].fresh += c.fresh
			all[i].total += c.total
		}
	}
	t.Logf("| all | %d | %d | %d | %d | %d | %d |", all[0].trips, all[1].trips, all[0].fresh, all[1].fresh, all[0].total, all[1].total)
	if saved < 9 || all[1].fresh*3 > all[0].fresh || all[1].total > all[0].total {
		t.Errorf("scripts saved tokens in %d of 12: %+v", saved, all)
	}
}

// BenchmarkTwelveScripts times the work of TestTwelveScripts in both ways, turn by turn, and
// says how the times compare: calls-ms and script-ms are those of one turn, script/calls is
// below 1 where the script is faster. The model answers at once, so what a round trip to a
// real one takes is not in it: trips says how many there are.
func BenchmarkTwelveScripts(b *testing.B) {
	k := kerneltest.Open(b, kerneltest.StateDir(b))
	for _, one := range twelve {
		b.Run(strings.ReplaceAll(one.name, " ", "_"), func(b *testing.B) {
			var calls, script cost
			for b.Loop() {
				b.StopTimer() // the files of the work are made
				w, v := newWorkshop(b), newWorkshop(b)
				b.StartTimer()
				c, s := w.do(b, k, one.calls(w)), v.do(b, k, one.asScript(b, v))
				calls.took, script.took = calls.took+c.took, script.took+s.took
				calls.trips, script.trips = c.trips, s.trips
			}
			n := float64(b.N)
			b.ReportMetric(calls.took.Seconds()*1000/n, "calls-ms")
			b.ReportMetric(script.took.Seconds()*1000/n, "script-ms")
			b.ReportMetric(script.took.Seconds()/calls.took.Seconds(), "script/calls")
			b.ReportMetric(float64(calls.trips), "calls-trips")
			b.ReportMetric(float64(script.trips), "script-trips")
		})
	}
}
