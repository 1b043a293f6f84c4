package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// Show returns tables as text for people: like the statements that create them,
// but shorter.
func Show(tables []*Table) string {
	var b strings.Builder
	for i, t := range tables {
		if i > 0 {
			b.WriteByte('\n')
		}
		t.show(&b)
	}
	return b.String()
}

// Headline returns the first line of a table: kind, name, estimated rows, comment.
func (t *Table) Headline() string {
	s := t.Kind + " " + t.Ref()
	switch {
	case t.Rows == nil:
	case *t.Rows == 1:
		s += " ~1 row"
	default:
		s += fmt.Sprintf(" ~%d rows", *t.Rows)
	}
	return s + comment(t.Comment)
}

func (t *Table) show(b *strings.Builder) {
	b.WriteString(t.Headline() + "\n")
	for _, c := range t.Columns {
		fmt.Fprintf(b, "  %s %s", c.Name, c.Type)
		if slices.Equal(t.PrimaryKey, []string{c.Name}) {
			b.WriteString(" primary key")
		} else if !c.Nullable {
			b.WriteString(" not null")
		}
		if c.Default != nil && *c.Default != "NULL" {
			fmt.Fprintf(b, " default %s", *c.Default)
		}
		if c.Generated {
			b.WriteString(" generated")
		}
		for _, f := range t.ForeignKeys {
			if slices.Equal(f.Columns, []string{c.Name}) {
				fmt.Fprintf(b, " -> %s", f.target())
			}
		}
		b.WriteString(comment(c.Comment) + "\n")
	}
	t.showRest(b)
}

func (t *Table) showRest(b *strings.Builder) {
	if len(t.PrimaryKey) > 1 {
		fmt.Fprintf(b, "  primary key (%s)\n", strings.Join(t.PrimaryKey, ", "))
	}
	for _, f := range t.ForeignKeys {
		if len(f.Columns) > 1 {
			fmt.Fprintf(b, "  (%s) -> %s\n", strings.Join(f.Columns, ", "), f.target())
		}
	}
	for _, i := range t.Indexes {
		unique := ""
		if i.Unique {
			unique = "unique "
		}
		fmt.Fprintf(b, "  %sindex %s (%s)\n", unique, i.Name, strings.Join(i.Columns, ", "))
	}
	for _, c := range t.Checks {
		fmt.Fprintf(b, "  %s\n", c)
	}
}

func (f *ForeignKey) target() string {
	s := f.RefTable + "(" + strings.Join(f.RefColumns, ", ") + ")"
	if f.OnDelete != "" {
		s += " on delete " + f.OnDelete
	}
	if f.OnUpdate != "" {
		s += " on update " + f.OnUpdate
	}
	return s
}

func comment(text string) string {
	if text == "" {
		return ""
	}
	return "  -- " + strings.Join(strings.Fields(text), " ")
}
