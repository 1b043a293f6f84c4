// Package contacts is the module for address books at a CardDAV server: finding, making,
// changing and deleting contacts.
//
// Package vcard reads and writes contacts; callgate/internal/module/dav reaches the server. Texts
// of contacts are data for the model: anybody may send a card.
package contacts

import (
	"context"
	"strings"
	"time"

	"callgate/internal/module"
	"callgate/internal/module/contacts/vcard"
	"callgate/internal/module/dav"
	"callgate/tool"
)

// Namespace is the module's name.
const Namespace = "contacts"

// settings are what an app file may say about the module.
type settings struct {
	dav.Settings

	Book string   `config:"book" help:"where new contacts go, by the address book's name; needed where there are several"`
	Only []string `constraint:"books" help:"only these address books are seen, by their names"`
}

func defaults() *settings { return &settings{Settings: dav.Defaults()} }

// Check reads the settings, so that a mistake is reported when the app is opened.
func (s *settings) Check() error { return s.Prepare(Namespace) }

// Module returns the module for the kernel to open.
func Module() module.Module {
	return module.Module{
		Name:          Namespace,
		Summary:       "Address books (CardDAV): find, make, change and delete contacts.",
		Settings:      func() any { return defaults() },
		Credential:    true,
		NeedsSettings: true,
		Open: func(module.Host) (*module.Instance, error) {
			return &module.Instance{Tools: tools()}, nil
		},
	}
}

// tools makes the tools of the module. A new tool is a file, its description beside it, and a
// line here.
func tools() []*tool.Tool {
	definitions := []module.Definition{
		listBooksTool(), listTool(), searchTool(), getTool(), createTool(), updateTool(), deleteTool(),
	}
	all := make([]*tool.Tool, len(definitions))
	for i, d := range definitions {
		d.Tags = append([]string{
			"contacts", "carddav", "address book", "people", "phone", "carnet d'adresses", "Kontakte", "contactos", "联系人", "連絡先",
		}, d.Tags...)
		d.Runtime.Network, d.Runtime.Timeout = true, 11*time.Minute // the module's own limit ends a call first
		all[i] = d.Tool(Namespace)
	}
	return all
}

func reads() tool.Runtime {
	return tool.Runtime{
		Effects: []tool.Effect{{Resource: "module:" + Namespace, Mode: tool.IS}},
		Risk:    tool.Low, SideEffect: tool.Read, Idempotent: true, Data: tool.DataSensitive,
	}
}

func changes(r tool.Risk) tool.Runtime {
	return tool.Runtime{
		Effects: []tool.Effect{{Resource: "module:" + Namespace, Mode: tool.IX}},
		Risk:    r, SideEffect: tool.External, Data: tool.DataSensitive,
	}
}

// call is one call of a tool.
type call struct {
	*dav.Client
	op       string
	settings *settings
}

// handler returns the handler of a tool. It decodes the arguments, which the kernel has
// already checked against the schema, and bounds the time.
func handler[In any](name string, run func(context.Context, *call, In) (*tool.Result, error)) tool.Handler {
	op := Namespace + "." + name
	return tool.HandlerFunc(func(ctx context.Context, asked tool.Call, grant tool.Grant) (*tool.Result, error) {
		in, err := module.Args[In](op, asked)
		if err != nil {
			return nil, err
		}
		s := module.SettingsOf(grant, func() *settings {
			d := defaults()
			_ = d.Check()
			return d
		})
		client, err := s.Client(op, grant.Credential)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, s.TimeLimit())
		defer cancel()
		return run(ctx, &call{client, op, s}, in)
	})
}

// books lists the address books that the app may see; named chooses one by its name or path.
func (c *call) books(ctx context.Context, named string) ([]dav.Collection, error) {
	all, err := c.Collections(ctx, dav.Books)
	if err != nil {
		return nil, err
	}
	var seen, chosen []dav.Collection
	var names []string
	for _, one := range all {
		if len(c.settings.Only) > 0 && !hasName(c.settings.Only, one.Name) {
			continue
		}
		seen, names = append(seen, one), append(names, one.Name)
		if named != "" && (strings.EqualFold(one.Name, named) || one.Path == strings.TrimSuffix(named, "/")+"/") {
			chosen = append(chosen, one)
		}
	}
	switch {
	case named == "":
		return seen, nil
	case len(chosen) == 0:
		e := tool.Errorf(c.op, tool.NotFound, "there is no address book %q", tool.Truncate(named)).
			WithHint("there are %s", tool.TruncateTo(strings.Join(names, ", "), 500))
		e.Similar = names
		return nil, e
	}
	return chosen, nil
}

func hasName(list []string, name string) bool {
	for _, one := range list {
		if strings.EqualFold(one, name) {
			return true
		}
	}
	return false
}

// object reads a contact that a call names, in an address book that the app may see. An ETag is
// the one that the call has seen; "" is any.
func (c *call) object(ctx context.Context, id, etag string) (*dav.Object, *vcard.Card, dav.Collection, error) {
	all, err := c.books(ctx, "")
	if err != nil {
		return nil, nil, dav.Collection{}, err
	}
	book, err := c.Inside(all, id)
	if err != nil {
		return nil, nil, book, err
	}
	o, err := c.Get(ctx, id)
	if err != nil {
		return nil, nil, book, err
	}
	card, err := vcard.Parse(o.Data)
	if err != nil {
		return nil, nil, book, tool.Errorf(c.op, tool.Failed, "the contact %s cannot be read: %v", tool.Truncate(id), err)
	}
	if etag != "" {
		o.ETag = etag
	}
	return o, card, book, nil
}
