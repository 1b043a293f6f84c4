// Package contacts is the module for address books at a CardDAV server: finding, making,
// changing and deleting contacts.
//
// Package vcard reads and writes contacts; callgate/internal/module/dav reaches the server. Texts
// of contacts are data for the model: anybody may send a card.
package contacts

import (
	"context"

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
	tags := []string{
		"contacts", "carddav", "address book", "people", "phone", "carnet d'adresses", "Kontakte", "contactos", "联系人", "連絡先",
	}
	return dav.Tools(Namespace, tags,
		listBooksTool(), listTool(), searchTool(), getTool(), createTool(), updateTool(), deleteTool())
}

func reads() tool.Runtime { return dav.Reads(Namespace) }

func changes(r tool.Risk) tool.Runtime { return dav.Changes(Namespace, r) }

// call is one call of a tool.
type call struct {
	*dav.Client
	op       string
	settings *settings
}

// handler returns the handler of a tool.
func handler[In any](name string, run func(context.Context, *call, In) (*tool.Result, error)) tool.Handler {
	op := Namespace + "." + name
	return dav.Handler(op, defaults, func(ctx context.Context, c *dav.Client, s *settings, in In) (*tool.Result, error) {
		return run(ctx, &call{c, op, s}, in)
	})
}

// books lists the address books that the app may see; named chooses one by its name or path.
func (c *call) books(ctx context.Context, named string) ([]dav.Collection, error) {
	all, err := c.Collections(ctx, dav.Books)
	if err != nil {
		return nil, err
	}
	return c.Choose(all, c.settings.Only, named, "address book")
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
