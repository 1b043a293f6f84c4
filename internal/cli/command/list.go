package command

import (
	"strings"

	"callgate/tool"
)

// WriteList writes what a list command found: as JSON, or as a table, which write
// writes. Where nothing was found, none says so to a person.
func WriteList[T any](e *Env, found []T, none string, write func() error) error {
	switch {
	case e.JSON:
		return e.WriteJSON(found)
	case len(found) == 0:
		e.Status("%s", none)
		return nil
	}
	return WriteError(write())
}

// FindByPrefix returns the item with an ID, or the only one whose ID begins with
// it; ok is false when none does. Things is what an error calls several of them.
func FindByPrefix[T any](list []T, id, things string, idOf func(T) string) (item T, ok bool, err error) {
	var found []T
	for _, each := range list {
		if idOf(each) == id {
			return each, true, nil
		}
		if id != "" && strings.HasPrefix(idOf(each), id) {
			found = append(found, each)
		}
	}
	switch len(found) {
	case 0:
		return item, false, nil
	case 1:
		return found[0], true, nil
	}
	e := tool.Errorf("cli.find", tool.Ambiguous, "%d %s begin with %s", len(found), things, tool.Truncate(id)).
		WithHint("write more of the ID")
	for _, each := range found[:min(len(found), 10)] {
		e.Similar = append(e.Similar, idOf(each))
	}
	return item, false, e
}
