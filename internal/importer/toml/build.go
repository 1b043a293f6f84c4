package toml

import (
	"fmt"
	"strings"

	"callgate/internal/importer/configtree"
)

// how a table was defined, which decides what may still add to it.
type how int

const (
	implied how = iota // named on the way to another
	headed             // by its own header
	dotted             // by a key with dots
)

// table is a table that is being put together. A list of tables has a table for
// each of its members.
type table struct {
	how     how
	at      int
	names   []string
	members map[string]*node
}

// node is the value, the table or the list of tables of a name.
type node struct {
	at    int
	value *configtree.Value
	table *table
	list  []*table
}

// build adds statements up.
func build(statements []statement) (*configtree.Value, error) {
	root := &table{how: headed}
	current := root
	for _, s := range statements {
		var err error
		if s.header {
			current, err = root.open(s)
		} else {
			err = current.set(s)
		}
		if err != nil {
			return nil, err
		}
	}
	v := root.finish()
	return &v, nil
}

func clash(s statement, format string, args ...any) error {
	return fail(s.from, format, args...)
}

func (t *table) add(name string, n *node) {
	if t.members == nil {
		t.members = make(map[string]*node)
	}
	t.names = append(t.names, name)
	t.members[name] = n
}

// step is the table under a name, made if there is none.
func (t *table) step(s statement, name string, made how) (*table, error) {
	n := t.members[name]
	switch {
	case n == nil:
		n = &node{at: s.from, table: &table{how: made, at: s.from}}
		t.add(name, n)
		return n.table, nil
	case n.list != nil && s.header:
		return n.list[len(n.list)-1], nil
	case n.table != nil:
		return n.table, nil
	}
	return nil, clash(s, "%s has its value already, so nothing can be added to it", quoted(name))
}

// open is the table that a header begins.
func (t *table) open(s statement) (*table, error) {
	last := s.path[len(s.path)-1]
	for _, name := range s.path[:len(s.path)-1] {
		var err error
		if t, err = t.step(s, name, implied); err != nil {
			return nil, err
		}
	}
	n := t.members[last]
	switch {
	case s.array && n == nil:
		n = &node{at: s.from}
		t.add(last, n)
		fallthrough
	case s.array && n.list != nil:
		n.list = append(n.list, &table{how: headed, at: s.from})
		return n.list[len(n.list)-1], nil
	case n == nil:
		n = &node{at: s.from, table: &table{how: headed, at: s.from}}
		t.add(last, n)
		return n.table, nil
	case !s.array && n.table != nil && n.table.how == implied:
		n.table.how = headed
		return n.table, nil
	}
	return nil, clash(s, "the table %s stands here a second time", quoted(strings.Join(s.path, ".")))
}

// set gives a key of a table its value.
func (t *table) set(s statement) error {
	for _, name := range s.path[:len(s.path)-1] {
		next, err := t.step(s, name, dotted)
		if err != nil {
			return err
		}
		if next.how == headed || next.how == implied {
			return clash(s, "the table %s has a header of its own, so a key with dots cannot add to it", quoted(name))
		}
		t = next
	}
	last := s.path[len(s.path)-1]
	if t.members[last] != nil {
		return clash(s, "the key %s stands here a second time", quoted(last))
	}
	t.add(last, &node{at: s.from, value: &s.value})
	return nil
}

func (t *table) finish() configtree.Value {
	v := configtree.Value{Kind: configtree.Object, From: t.at, To: t.at}
	for _, name := range t.names {
		n := t.members[name]
		m := configtree.Member{Name: name, At: n.at, Comma: -1}
		switch {
		case n.value != nil:
			m.Value = *n.value
		case n.table != nil:
			m.Value = n.table.finish()
		default:
			m.Value = configtree.Value{Kind: configtree.List, From: n.at, To: n.at}
			for _, item := range n.list {
				m.Value.Items = append(m.Value.Items, item.finish())
			}
		}
		v.Members = append(v.Members, m)
	}
	return v
}

func quoted(name string) string { return fmt.Sprintf("%.60q", name) }
