package catalog

import (
	"fmt"
	"slices"
	"strings"
)

// Show writes tables for eyes, much like the statements that would make them,
// only shorter.
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

func (t *Table) show(b *strings.Builder) {
	fmt.Fprintf(b, "%s %s", t.Kind, t.Ref())
	if t.Rows != nil {
		fmt.Fprintf(b, " ~%d rows", *t.Rows)
	}
	comment(b, t.Comment)
	b.WriteByte('\n')
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
		comment(b, c.Comment)
		b.WriteByte('\n')
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

func comment(b *strings.Builder, s string) {
	if s != "" {
		b.WriteString("  -- " + strings.Join(strings.Fields(s), " "))
	}
}
