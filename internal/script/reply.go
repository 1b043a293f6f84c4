package script

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"
)

// reply is what a program gets of a tool that has both a text and data: the text, which has
// the methods of a text, with the data by their names: r.splitlines(), r["exit_code"],
// r.exit_code. Wherever a text is wanted it is one: every check puts the text in its place,
// so that no comparison tells a reply from its text.
type reply struct {
	text starlark.String
	data starlark.Value
}

var (
	_ starlark.HasAttrs = (*reply)(nil)
	_ starlark.Mapping  = (*reply)(nil)
)

func (r *reply) String() string        { return r.text.String() }
func (r *reply) Type() string          { return "reply" }
func (r *reply) Freeze()               {}
func (r *reply) Truth() starlark.Bool  { return r.text.Truth() }
func (r *reply) Hash() (uint32, error) { return 0, errors.New("unhashable: reply") }

// Attr returns a method of the text, or a field of the data.
func (r *reply) Attr(name string) (starlark.Value, error) {
	if v, err := r.text.Attr(name); err != nil || v != nil {
		return v, err
	}
	if name == "text" {
		return r.text, nil
	}
	if name == "data" {
		return r.data, nil
	}
	d, ok := r.data.(*starlark.Dict)
	if !ok {
		return nil, nil
	}
	v, found, err := d.Get(starlark.String(name))
	if err != nil || !found {
		return nil, err
	}
	return v, nil
}

// AttrNames lists the fields of the data, and data itself.
func (r *reply) AttrNames() []string {
	names := []string{"data", "text"}
	if d, ok := r.data.(*starlark.Dict); ok {
		for _, k := range d.Keys() {
			if s, ok := starlark.AsString(k); ok {
				names = append(names, s)
			}
		}
	}
	return names
}

// Get returns an entry of the data.
func (r *reply) Get(k starlark.Value) (starlark.Value, bool, error) {
	d, ok := r.data.(starlark.Mapping)
	if !ok {
		return nil, false, fmt.Errorf("the data of this reply are no dict")
	}
	return d.Get(k)
}

// plain puts the text in the place of a reply.
func plain(v starlark.Value) starlark.Value {
	if r, ok := v.(*reply); ok {
		return r.text
	}
	return v
}

// plainAll puts texts in the place of replies, also inside lists and the like, which are
// copied then.
func plainAll(v starlark.Value) starlark.Value {
	switch v := v.(type) {
	case *reply:
		return v.text
	case *starlark.List:
		list := make([]starlark.Value, v.Len())
		for i := range list {
			list[i] = plainAll(v.Index(i))
		}
		return starlark.NewList(list)
	case starlark.Tuple:
		list := make(starlark.Tuple, len(v))
		for i := range list {
			list[i] = plainAll(v[i])
		}
		return list
	case *starlark.Dict:
		d := starlark.NewDict(v.Len())
		for _, item := range v.Items() {
			_ = d.SetKey(item[0], plainAll(item[1])) // its keys were keys before
		}
		return d
	}
	return v
}
