package contacts

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"callgate/internal/fence"
	"callgate/internal/module"
	"callgate/internal/module/contacts/vcard"
	"callgate/internal/module/dav"
	"callgate/tool"
)

//go:embed create.md
var createDoc string

//go:embed update.md
var updateDoc string

//go:embed delete.md
var deleteDoc string

const contactParameters = `
    "name": {"type": "string", "maxLength": 500, "description": "The whole name, as it is shown."},
    "given": {"type": "string", "maxLength": 200}, "family": {"type": "string", "maxLength": 200},
    "nickname": {"type": "string", "maxLength": 200}, "organization": {"type": "string", "maxLength": 500},
    "title": {"type": "string", "maxLength": 200, "description": "What somebody is there."},
    "emails": ` + valuesSchema + `, "phones": ` + valuesSchema + `, "urls": ` + valuesSchema + `,
    "addresses": ` + addressesSchema + `,
    "birthday": {"type": "string", "maxLength": 20, "description": "1990-03-14, or --03-14 without the year."},
    "note": {"type": "string", "maxLength": 20000}`

const changedOutput = `{
  "type": "object",
  "properties": {
    "id": {"type": "string"},
    "etag": {"type": "string", "description": "Its version now; empty where the server does not say."},
    "book": {"type": "string"}, "name": {"type": "string"}
  },
  "required": ["id", "etag", "name"]
}`

const identity = `
    "id": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "The contact, as a list shows it."},
    "etag": {"type": "string", "minLength": 1, "maxLength": 500, "description": "The version that was seen, as a list shows it."}`

func createTool() module.Definition {
	return module.Definition{
		Name: "create", Short: "ContactsCreate", Doc: createDoc, Output: changedOutput,
		Input: `{"type": "object", "properties": {` + contactParameters + `,
    "book": {"type": "string", "maxLength": 500, "description": "Which address book, by its name. Default: the app's, or the only one."}
  }, "required": ["name"], "additionalProperties": false}`,
		Examples: []tool.Example{
			module.Example("a person", `{"name": "Anna Müller", "emails": [{"value": "anna@example.com", "type": "work"}],
  "phones": [{"value": "+49 170 1234567", "type": "cell"}]}`),
		},
		Aliases: []string{
			"create_contact", "add_contact", "new_contact", "save_contact", "save a phone number", "add somebody to my contacts",
			"ajouter un contact", "Kontakt anlegen", "añadir un contacto", "adicionar um contato", "aggiungere un contatto",
			"添加联系人", "連絡先を追加", "добавить контакт",
		},
		Tags: []string{"create", "add", "ajouter", "anlegen"}, Runtime: changes(tool.Medium),
		Handler: handler("create", create),
	}
}

func updateTool() module.Definition {
	return module.Definition{
		Name: "update", Short: "ContactsUpdate", Doc: updateDoc, Output: changedOutput,
		Input: `{"type": "object", "properties": {` + identity + `,` + contactParameters + `},
  "required": ["id", "etag"], "additionalProperties": false}`,
		Examples: []tool.Example{
			module.Example("another job",
				`{"id": "/ann/contacts/7f3a.vcf", "etag": "\"a1\"", "organization": "ACME", "title": ""}`),
		},
		Aliases: []string{
			"update_contact", "edit_contact", "change_contact", "change a phone number", "correct an address", "modifier un contact",
			"Kontakt ändern", "cambiar un contacto", "alterar um contato", "modificare un contatto", "修改联系人", "連絡先を変更",
		},
		Tags: []string{"update", "change", "modifier", "ändern"}, Runtime: changes(tool.Medium),
		Handler: handler("update", update),
	}
}

func deleteTool() module.Definition {
	return module.Definition{
		Name: "delete", Short: "ContactsDelete", Doc: deleteDoc,
		Input: `{"type": "object", "properties": {` + identity + `},
  "required": ["id", "etag"], "additionalProperties": false}`,
		Output: `{"type": "object", "properties": {"id": {"type": "string"}, "name": {"type": "string"}},
  "required": ["id", "name"]}`,
		Examples: []tool.Example{module.Example("one", `{"id": "/ann/contacts/7f3a.vcf", "etag": "\"a1\""}`)},
		Aliases: []string{
			"delete_contact", "remove_contact", "forget a person", "supprimer un contact", "Kontakt löschen", "borrar un contacto",
			"excluir um contato", "eliminare un contatto", "删除联系人", "連絡先を削除", "удалить контакт",
		},
		Tags: []string{"delete", "remove", "supprimer", "löschen"}, Runtime: changes(tool.High),
		Handler: handler("delete", remove),
	}
}

type contactArgs struct {
	ID, ETag, Book                                                     string
	Name, Given, Family, Nickname, Organization, Title, Birthday, Note *string
	Emails, Phones, URLs                                               *[]vcard.Value
	Addresses                                                          *[]vcard.Address
}

// change reads what a call says of a contact.
func (c *call) change(in contactArgs) (vcard.Change, error) {
	for _, text := range []*string{in.Name, in.Given, in.Family, in.Nickname, in.Organization, in.Title} {
		if text != nil && strings.ContainsAny(*text, "\r\n\x00") {
			return vcard.Change{}, tool.Errorf(c.op, tool.Invalid, "names, organization and title are one line each")
		}
	}
	return vcard.Change{
		Name: in.Name, Given: in.Given, Family: in.Family, Nickname: in.Nickname, Organization: in.Organization,
		Title: in.Title, Birthday: in.Birthday, Note: in.Note, Emails: in.Emails, Phones: in.Phones, URLs: in.URLs,
		Addresses: in.Addresses,
	}, nil
}

func create(ctx context.Context, c *call, in contactArgs) (*tool.Result, error) {
	if err := c.MayChange(); err != nil {
		return nil, err
	}
	change, err := c.change(in)
	if err != nil {
		return nil, err
	}
	book, err := c.target(ctx, in.Book)
	if err != nil {
		return nil, err
	}
	uid := strings.ToLower(rand.Text())
	data, err := vcard.New(uid, time.Now(), change)
	if err != nil {
		return nil, c.asTool(err)
	}
	at := book.Path + uid + ".vcf"
	etag, err := c.Create(ctx, at, vcard.MIMEType, data)
	if err != nil {
		return nil, err
	}
	return c.changed("made", dav.Object{Path: at, ETag: etag, Data: data}, book.Name)
}

// target is the address book that a new contact goes to.
func (c *call) target(ctx context.Context, named string) (dav.Collection, error) {
	list, err := c.books(ctx, cmp.Or(named, c.settings.Book))
	if err != nil {
		return dav.Collection{}, err
	}
	return c.One(list, "address book")
}

func update(ctx context.Context, c *call, in contactArgs) (*tool.Result, error) {
	if err := c.MayChange(); err != nil {
		return nil, err
	}
	change, err := c.change(in)
	if err != nil {
		return nil, err
	}
	o, card, book, err := c.object(ctx, in.ID, in.ETag)
	if err != nil {
		return nil, err
	}
	if o.Data, err = card.Write(time.Now(), change); err != nil {
		return nil, c.asTool(err)
	}
	if o.ETag, err = c.Replace(ctx, *o, vcard.MIMEType, o.Data); err != nil {
		return nil, err
	}
	return c.changed("changed", *o, book.Name)
}

func remove(ctx context.Context, c *call, in contactArgs) (*tool.Result, error) {
	if err := c.MayChange(); err != nil {
		return nil, err
	}
	o, card, _, err := c.object(ctx, in.ID, in.ETag)
	if err != nil {
		return nil, err
	}
	if err := c.Delete(ctx, *o); err != nil {
		return nil, err
	}
	name := tool.TruncateTo(card.Contact().Name, maxText)
	return told("deleted "+quote(name), "", map[string]any{"id": o.Path, "name": name})
}

// changed is the result of a change, with the contact as it was written.
func (c *call) changed(verb string, o dav.Object, book string) (*tool.Result, error) {
	card, err := vcard.Parse(o.Data)
	if err != nil {
		return nil, c.asTool(err)
	}
	d := dataOf(card.Contact(), o, book)
	summary := fmt.Sprintf("%s %s, id %s, etag %s", verb, quote(d.Name), fence.Value(d.ID), fence.Value(d.ETag))
	return told(summary, "", map[string]any{"id": d.ID, "etag": d.ETag, "book": d.Book, "name": d.Name})
}

// asTool gives an error of package vcard the name of the tool.
func (c *call) asTool(err error) error {
	var e *tool.Error
	if errors.As(err, &e) {
		return e
	}
	return tool.Errorf(c.op, tool.Invalid, "%v", err)
}
