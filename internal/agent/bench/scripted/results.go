package scripted

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// take reads the result of a work's call.
func (w *work) take(m *Model, r *Request, res Result) {
	if w.again {
		m.wasted[w.call.ID] = true
	}
	if aside := w.aside; aside != nil {
		w.aside = nil
		aside(m, r, res)
		return
	}
	_, found := w.step.fact(res.Text)
	if failed(res) {
		w.takeFailure(m, r, res, found)
		return
	}
	m.learned[w.tool] = true
	if w.step.Find == "" || found {
		w.done = true
		return
	}
	w.goOn(m, r, res)
}

func (w *work) takeFailure(m *Model, r *Request, res Result, found bool) {
	isExit := w.intent == running && exitWords.MatchString(res.Text)
	switch {
	case found && (w.step.Fails || isExit):
		m.learned[w.tool] = true
		w.done = true
	case isExit && w.step.Search != "": // how grep says that there is nothing
		w.giveUp(m)
	case isExit && w.step.Read != "" && !w.doubted:
		m.wasted[w.call.ID] = true
		w.findByCommand()
	case isExit && w.step.Read != "":
		w.failed = "There is no such file."
	case isExit && w.step.Fails:
		w.failed = "It failed, and I cannot see why."
	case isExit:
		w.failed = "The command failed: " + clip(res.Text)
	default:
		m.wasted[w.call.ID] = true
		w.mend(m, r, res.Text)
	}
}

// goOn looks for the rest of a result that does not hold what the model looks for.
// Nobody said that there is a rest: then there is none.
func (w *work) goOn(m *Model, r *Request, res Result) {
	w.tries++
	rest := more(res.Text)
	w.enqueue(rest.next)
	if w.last == w.own {
		n, inMiddle := headLines(res.Text)
		w.full = rest.cut || n >= w.piece-1
		if inMiddle && len(rest.next) == 0 && n > 0 && n < w.piece { // fewer at a time are shown whole
			w.piece = n
		}
	}
	switch {
	case w.tries > 3*tries:
		w.giveUp(m)
	case rest.cut && w.step.Run != "" && w.step.Narrow != "" && !w.doubted:
		w.doubted = true
		w.values[command] = w.step.Run + " | grep -- " + word(w.step.Narrow)
	case w.step.Search != "" && w.step.Narrow != "" && (rest.cut || m.habits.doubts) && !w.doubted:
		if !rest.cut {
			m.wasted[w.call.ID] = true
		}
		w.narrow()
	case w.step.Glob != "" && w.step.Narrow != "" && rest.cut && !w.doubted && w.intent == globbing:
		w.doubted = true
		w.values[pattern] = w.step.Narrow
	case len(w.queue) > 0:
		w.follows(m)
	case m.habits.byShell && w.step.Read != "" && w.full:
		w.first += w.piece // it asked for so much, and got it: there may be more
		w.tries--
		w.tool, w.intent = w.own, reading
		w.asCommand()
	case w.intent == reading && w.nextLines(res.Text, rest.cut):
	default:
		w.giveUp(m)
	}
}

// nextLines reads on in smaller pieces, where only the beginning and the end of a piece
// were shown, or where all the lines came that were asked for. False: there is no more.
func (w *work) nextLines(text string, cut bool) bool {
	from, _ := w.values[offset].(int)
	asked, _ := w.values[limit].(int)
	n, inMiddle := headLines(text)
	switch {
	case cut && inMiddle && n > 0:
		w.values[limit] = n
	case asked == 0 || n < asked-1:
		return false
	default:
		n = asked
	}
	w.values[offset] = max(from, 1) + n
	return true
}

// headLines counts the lines before the place where the middle of a text is missing; all
// of them if none is.
func headLines(text string) (int, bool) {
	mark := cutInMiddle(text)
	if mark == "" {
		return strings.Count(text, "\n"), false
	}
	head, _, _ := strings.Cut(text, mark)
	return strings.Count(head, "\n"), true
}

// enqueue remembers calls that were told, each once.
func (w *work) enqueue(calls []told) {
	if w.queued == nil {
		w.queued = map[string]bool{}
	}
	for _, c := range calls {
		if key := fmt.Sprint(c.tool, c.args); !w.queued[key] {
			w.queued[key] = true
			w.queue = append(w.queue, c)
		}
	}
}

// follows makes the call that a result told to go on with.
func (w *work) follows(m *Model) {
	next := w.queue[0]
	w.queue = w.queue[1:]
	w.tool, w.exact = next.tool, next.args
	if next.tool == "" {
		w.tool, w.exact = w.last, maps.Clone(w.said)
		maps.Copy(w.exact, next.args)
	}
	if at, ok := w.exact["offset"]; ok && m.habits.quotes {
		w.exact["offset"] = fmt.Sprint(at)
	}
}

// narrow searches in the folder that the model thinks is meant.
func (w *work) narrow() {
	w.doubted = true
	if w.intent == running {
		w.values[command] = "grep -rn -- " + word(w.step.Search) + " " + word(w.step.Narrow)
		return
	}
	w.values[path] = w.step.Narrow
}

// giveUp ends the task with what the model believes: that it is not there.
func (w *work) giveUp(m *Model) {
	m.wasted[w.call.ID] = true
	w.failed = fmt.Sprintf("I looked, and it is not there (%s).", w.tool)
}

// mend does what an error says.
func (w *work) mend(m *Model, r *Request, text string) {
	w.tries++
	schema, hasSchema := schemaIn(text)
	example := exampleIn(text)
	switch {
	case w.tries > tries:
		w.failed = "I could not do it: " + clip(text)
	case unknownTool.MatchString(text):
		w.rename(m, r, text)
	case hasSchema || len(example) > 0:
		m.learned[w.tool] = true
		if hasSchema {
			m.known[w.tool] = schema
		}
		if hasSchema && w.intent == patching && schema.param(patch) == "" && w.step.Edit != "" {
			w.intent, w.values = w.step.asEdit()
		}
		w.follow(m, example)
	case refusedWords.MatchString(text) && !readFirst.MatchString(text):
		w.accept(m, text)
	case readFirst.MatchString(text):
		w.lookFirst(m, r)
	case w.values[path] != nil && similarPath(text, fmt.Sprint(w.values[path])) != "":
		w.values[path] = similarPath(text, fmt.Sprint(w.values[path]))
	case w.values[path] != nil && (w.intent == reading || w.intent == editing) && notThere(text):
		w.locate(m, r, text)
	case w.intent == editing || w.intent == patching:
		w.lookFirst(m, r)
	default:
		m.learned[w.tool] = true
	}
}

func notThere(text string) bool {
	return notThereWords.MatchString(text)
}

// rename takes the name that an error suggests; without one, what is shown or found.
func (w *work) rename(m *Model, r *Request, text string) {
	guess := w.tool
	m.refused[w.intent] = true
	w.tool = ""
	if names := meant(text); len(names) > 0 && !sameName(names[0], guess) {
		w.tool = names[0]
		if w.intent != acting {
			m.names[w.intent] = w.tool
		}
	}
	if w.tool == "" && w.intent == patching && w.step.Edit != "" { // a patch was only its way to edit
		w.intent, w.values = w.step.asEdit()
	}
}

// follow copies an example as it stands, if the model is one that does so and the
// example is a form to fill in: a filled one it can tell from its own arguments.
func (w *work) follow(m *Model, example map[string]any) {
	for name, v := range example {
		if m.habits.copies && v == "{"+name+"}" && !w.copied {
			w.copied, w.exact, w.aside = true, example, w.notThat
			return
		}
	}
}

// notThat takes the result of an example that was copied: it is tried again in the
// model's own words.
func (w *work) notThat(m *Model, r *Request, res Result) {
	if failed(res) {
		m.wasted[w.call.ID] = true
		return
	}
	w.take(m, r, res)
}

// accept ends a step that was refused, after a try of the tool that the refusal
// names, if it names one.
func (w *work) accept(m *Model, text string) {
	say := w.step.Refused
	if say == "" {
		say = "I was not allowed to: " + clip(text)
	}
	_, hint, _ := strings.Cut(text, "hint:")
	for _, found := range toolLike.FindAllStringSubmatch(hint, -1) {
		name := found[1]
		isFile := slices.Contains([]string{".yaml", ".md", ".go"}, filepath.Ext(name))
		if sameName(name, w.tool) || isFile {
			continue
		}
		w.tool, w.exact = name, map[string]any{}
		w.aside = func(m *Model, _ *Request, res Result) {
			if failed(res) {
				m.wasted[w.call.ID] = true
			}
			w.failed = say
		}
		return
	}
	if w.step.Refused != "" {
		delete(m.wasted, w.call.ID) // it had to be tried
	}
	w.failed = say
}

// lookFirst reads a file before it is changed.
func (w *work) lookFirst(m *Model, r *Request) {
	if w.doubted {
		w.failed = "I could not change it."
		return
	}
	w.doubted = true
	t, ok := shown(r.Tools, reading, map[role]any{path: ""})
	if !ok {
		return
	}
	change := w.tool
	w.tool, w.exact = t.Name, map[string]any{t.Schema.param(path): w.values[path]}
	w.aside = func(m *Model, r *Request, _ Result) {
		w.tool = change
		if w.intent == writing { // with what is so now
			w.values[content] = w.plain.filled(m.facts(r)).Content
		}
	}
}

// findByCommand looks for a file that is not where it should be.
func (w *work) findByCommand() {
	w.doubted = true
	base := filepath.Base(w.step.Read)
	stem := strings.TrimSuffix(base, filepath.Ext(base))
	w.values = map[role]any{command: "find . -name " + word(stem+"*")}
	w.aside = func(m *Model, _ *Request, res Result) {
		for _, f := range strings.Fields(res.Text) {
			if strings.HasPrefix(filepath.Base(f), stem) && !failed(res) {
				w.step.Read, w.intent = strings.TrimPrefix(f, "./"), reading
				w.asCommand()
				return
			}
		}
		w.failed = "There is no such file."
	}
}

// locate looks for a file that is not where it should be, with the tool that the
// error names, or with the one that is shown.
func (w *work) locate(m *Model, r *Request, text string) {
	if w.doubted {
		w.failed = "There is no such file."
		return
	}
	w.doubted = true
	read, base := w.tool, filepath.Base(fmt.Sprint(w.values[path]))
	stem := strings.TrimSuffix(base, filepath.Ext(base))
	args := map[string]any{"pattern": "**/*" + stem + "*"}
	_, hint, _ := strings.Cut(text, "hint:")
	w.tool = ""
	for _, found := range toolLike.FindAllStringSubmatch(hint, -1) {
		if slices.Contains(nameWords(found[1]), "glob") || slices.Contains(nameWords(found[1]), "find") {
			w.tool = found[1]
		}
	}
	if w.tool == "" {
		t, ok := shown(r.Tools, globbing, map[role]any{pattern: ""})
		if !ok {
			w.failed = "There is no such file."
			return
		}
		w.tool = t.Name
	}
	w.exact = args
	w.aside = func(m *Model, _ *Request, res Result) {
		w.tool = read
		for _, f := range strings.Fields(strings.NewReplacer(`"`, " ", ",", " ").Replace(res.Text)) {
			if strings.HasPrefix(filepath.Base(f), stem) && !failed(res) {
				w.values[path] = f
				return
			}
		}
		m.wasted[w.call.ID] = true
		w.failed = "There is no such file."
	}
}
