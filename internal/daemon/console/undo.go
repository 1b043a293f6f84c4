package console

import (
	"net/http"
	"net/url"
	"strconv"

	"callgate/internal/client"
	"callgate/internal/linediff"
	"callgate/internal/protocol"
)

// undoData is what an undo would do, or did.
type undoData struct {
	Target  protocol.UndoTarget
	Preview protocol.UndoPreview
	Files   []undoneFile
	Done    *protocol.Undone
}

// undoneFile is a file of an undo, with its difference.
type undoneFile struct {
	protocol.UndoFile
	Lines []linediff.Line
}

// undoTarget reads what is to be undone.
func undoTarget(r *http.Request) protocol.UndoTarget {
	turn, _ := strconv.Atoi(r.FormValue("turn")) // what is no number is the last that changed files
	return protocol.UndoTarget{
		Call: r.FormValue("call"), Conversation: r.FormValue("conversation"), Turn: max(turn, 0),
	}
}

// undo shows what an undo would do: nothing is changed before the person has seen it.
func (c *journalPages) undo(w http.ResponseWriter, r *http.Request) error {
	d := undoData{Target: undoTarget(r)}
	var err error
	if d.Preview, err = client.NewUndo(c.Client(r)).Preview(r.Context(), d.Target); err != nil {
		return err
	}
	for _, f := range d.Preview.Files {
		d.Files = append(d.Files, undoneFile{f, diffLines(f.Diff)})
	}
	return c.show(w, r, "undo", page{Title: "Undo", Nav: "journal", Data: d})
}

// doUndo puts files back as the preview showed.
func (c *journalPages) doUndo(w http.ResponseWriter, r *http.Request) error {
	done, err := client.NewUndo(c.Client(r)).Do(r.Context(), protocol.Undo{
		UndoTarget: undoTarget(r), Shown: r.FormValue("shown"), Skip: r.FormValue("conflicts") == "skip",
		Force: r.FormValue("conflicts") == "force", Rewind: r.FormValue("rewind") != "", By: c.Person(r).Name,
	})
	if err != nil {
		return err
	}
	if done.Call != "" && done.Preview.Conversation == "" {
		return back(w, r, "/calls/"+url.PathEscape(done.Call))
	}
	return c.show(w, r, "undo", page{Title: "Undone", Nav: "journal", Data: undoData{Preview: done.Preview, Done: &done}})
}
