package contacts

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"callgate/internal/amount"
	"callgate/internal/fence"
	"callgate/internal/module"
	"callgate/internal/module/contacts/vcard"
	"callgate/internal/module/dav"
	"callgate/tool"
)

//go:embed list_books.md
var listBooksDoc string

//go:embed list.md
var listDoc string

func listBooksTool() module.Definition {
	return module.Definition{
		Name: "list_books", Doc: listBooksDoc, Input: `{"type": "object", "properties": {}, "additionalProperties": false}`,
		Output: `{"type": "object", "properties": {"books": {"type": "array", "items": {"type": "object", "properties": {
    "name": {"type": "string"}, "path": {"type": "string"}, "description": {"type": "string"}
  }, "required": ["name", "path"]}}}, "required": ["books"]}`,
		Examples: []tool.Example{module.Example("all of them", `{}`)},
		Aliases: []string{
			"addressbooks.list", "address_books", "get_address_books", "which address books are there", "list my address books",
			"lister les carnets d'adresses", "Adressbücher auflisten", "listar libretas de direcciones", "列出通讯录", "アドレス帳一覧",
		},
		Tags: []string{"list", "books"}, Runtime: reads(), Handler: handler("list_books", listBooks),
	}
}

type bookData struct {
	Name        string `json:"name"`
	Path        string `json:"path"`
	Description string `json:"description,omitempty"`
}

func listBooks(ctx context.Context, c *call, _ struct{}) (*tool.Result, error) {
	list, err := c.books(ctx, "")
	if err != nil {
		return nil, err
	}
	all, texts := []bookData{}, []string{}
	for _, one := range list {
		all = append(all, bookData{one.Name, one.Path, one.Description})
		texts = append(texts, fence.Value(one.Name)+"  "+fence.Value(one.Path))
	}
	return told(amount.Of(len(all), "address book"), strings.Join(texts, "\n"), map[string]any{"books": all})
}

const bookParameter = `
    "book": {"type": "string", "maxLength": 500, "description": "One address book, by its name. Default: all."}`

const listOutput = `{
  "type": "object",
  "properties": {"contacts": {"type": "array", "items": ` + contactSchema + `}, "found": {"type": "integer"}},
  "required": ["contacts", "found"]
}`

func listTool() module.Definition {
	return module.Definition{
		Name: "list", Short: "ContactsList", Doc: listDoc, Output: listOutput,
		Input: `{"type": "object", "properties": {` + bookParameter + `,
    "limit": {"type": "integer", "minimum": 1, "maximum": 500, "default": 100},
    "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "How many are passed over."}
  }, "additionalProperties": false}`,
		Examples: []tool.Example{
			module.Example("the first hundred", `{}`), module.Example("of one book", `{"book": "Work", "limit": 20}`),
		},
		Aliases: []string{
			"list_contacts", "get_contacts", "contacts.get_all", "all my contacts", "who is in my address book",
			"lister mes contacts", "Kontakte auflisten", "listar contactos", "elenca i contatti", "列出联系人", "連絡先一覧", "список контактов",
		},
		Tags: []string{"list", "all"}, Runtime: reads(), Handler: handler("list", list),
	}
}

type listArgs struct {
	Book, Query   string
	Limit, Offset int
}

// summaryProps are what is asked for of each contact of a list: a server that can leaves the
// pictures out.
const summaryProps = `<a:prop name="VERSION"/><a:prop name="UID"/><a:prop name="FN"/><a:prop name="N"/>` +
	`<a:prop name="NICKNAME"/><a:prop name="ORG"/><a:prop name="TITLE"/><a:prop name="EMAIL"/><a:prop name="TEL"/>` +
	`<a:prop name="URL"/><a:prop name="ADR"/><a:prop name="NOTE"/><a:prop name="BDAY"/><a:prop name="CATEGORIES"/>` +
	`<a:prop name="KIND"/><a:prop name="X-ADDRESSBOOKSERVER-KIND"/><a:prop name="X-ABLABEL"/>`

const bookQuery = `<?xml version="1.0" encoding="utf-8"?>
<a:addressbook-query xmlns:d="DAV:" xmlns:a="urn:ietf:params:xml:ns:carddav"><d:prop><d:getetag/>` +
	`<a:address-data>` + summaryProps + `</a:address-data></d:prop><a:filter test="anyof">` +
	`<a:prop-filter name="FN"/></a:filter></a:addressbook-query>`

func list(ctx context.Context, c *call, in listArgs) (*tool.Result, error) {
	all, problems, err := c.contacts(ctx, in.Book)
	if err != nil {
		return nil, err
	}
	return c.told(all, problems, in)
}

// contacts reads those of one address book or of all, by their names.
func (c *call) contacts(ctx context.Context, named string) (all []contactData, problems []string, err error) {
	books, err := c.books(ctx, named)
	if err != nil {
		return nil, nil, err
	}
	for _, book := range books {
		objects, err := c.Query(ctx, book.Path, bookQuery)
		if err != nil {
			return nil, nil, err
		}
		for _, o := range objects {
			if d, err := read(o, book); err == nil {
				all = append(all, d)
			} else if len(problems) < 20 {
				problems = append(problems, fence.Value(tool.TruncateTo(fmt.Sprintf("%s cannot be read: %v", o.Path, err), 300)))
			}
		}
	}
	slices.SortStableFunc(all, func(a, b contactData) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.ID, b.ID))
	})
	return all, problems, nil
}

func read(o dav.Object, book dav.Collection) (contactData, error) {
	card, err := vcard.Parse(o.Data)
	if err != nil {
		return contactData{}, err
	}
	return dataOf(card.Contact(), o, book.Name), nil
}

// told is the result of a list.
func (c *call) told(all []contactData, problems []string, in listArgs) (*tool.Result, error) {
	from := min(in.Offset, len(all))
	kept := append([]contactData{}, all[from:min(from+cmp.Or(in.Limit, 100), len(all))]...)
	var texts []string
	for _, d := range kept {
		texts = append(texts, d.line(false))
	}
	if len(kept) > 0 {
		texts = append(texts, fence.Quoted)
	}
	summary := amount.Of(len(all), "contact")
	if len(kept) < len(all) {
		summary += fmt.Sprintf("; %d from %d on are shown", len(kept), from+1)
	}
	r, err := told(summary, strings.Join(texts, "\n"), map[string]any{"contacts": kept, "found": len(all)})
	if err == nil {
		r.Warnings = problems
	}
	return r, err
}
