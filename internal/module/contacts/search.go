package contacts

import (
	"context"
	_ "embed"
	"strings"
	"unicode"

	"callgate/internal/fence"
	"callgate/internal/module"
	"callgate/tool"
)

//go:embed search.md
var searchDoc string

//go:embed get.md
var getDoc string

func searchTool() module.Definition {
	return module.Definition{
		Name: "search", Short: "ContactsSearch", Doc: searchDoc, Output: listOutput,
		Input: `{"type": "object", "properties": {
    "query": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Words of a name, an address, a company; or a number."},` +
			bookParameter + `,
    "limit": {"type": "integer", "minimum": 1, "maximum": 500, "default": 50}
  }, "required": ["query"], "additionalProperties": false}`,
		Examples: []tool.Example{
			module.Example("by name", `{"query": "anna müller"}`), module.Example("by number", `{"query": "+49 170 1234567"}`),
		},
		Aliases: []string{
			"search_contacts", "find_contact", "contacts.find", "lookup_person", "what is her phone number", "find an email address",
			"whose number is this", "chercher un contact", "numéro de téléphone de", "Kontakt suchen", "Telefonnummer finden",
			"buscar un contacto", "procurar um contato", "cercare un contatto", "查找联系人", "連絡先を検索", "найти контакт",
		},
		Tags: []string{"search", "find", "number", "email", "chercher", "suchen", "buscar"}, Runtime: reads(),
		Handler: handler("search", search),
	}
}

// digits is how many a number has at least that is searched as one.
const digits = 5

// search reads all contacts and looks here: servers differ in what they find, and some fail where a
// value has parts.
func search(ctx context.Context, c *call, in listArgs) (*tool.Result, error) {
	if in.Limit == 0 {
		in.Limit = 50
	}
	words := strings.Fields(strings.ToLower(in.Query))
	if len(words) == 0 {
		return nil, tool.Errorf(c.op, tool.Invalid, "there is nothing to search for").
			WithHint("give a name, an address or a number")
	}
	number := isNumber(in.Query)
	all, problems, err := c.contacts(ctx, in.Book)
	if err != nil {
		return nil, err
	}
	var kept []contactData
	for _, d := range all {
		if number && d.hasNumber(onlyDigits(in.Query)) || !number && d.hasWords(words) {
			kept = append(kept, d)
		}
	}
	return c.told(kept, problems, in)
}

// isNumber reports whether a search is for a phone number.
func isNumber(query string) bool {
	return len(onlyDigits(query)) >= digits && !strings.ContainsFunc(query, func(r rune) bool {
		return !unicode.IsDigit(r) && !strings.ContainsRune(" +-/().", r)
	})
}

func onlyDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, text)
}

// hasNumber compares without the signs between digits; a number with a prefix of a country ends
// as one without.
func (d *contactData) hasNumber(number string) bool {
	for _, v := range d.Phones {
		one, other := onlyDigits(v.Value), strings.TrimLeft(number, "0")
		if strings.Contains(one, number) || len(other) >= digits && strings.HasSuffix(one, other) {
			return true
		}
		if short := strings.TrimLeft(one, "0"); len(short) >= digits+2 && strings.HasSuffix(number, short) {
			return true
		}
	}
	return false
}

func (d *contactData) hasWords(words []string) bool {
	text := strings.ToLower(d.line(true) + "\n" + d.Given + " " + d.Family)
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

func getTool() module.Definition {
	return module.Definition{
		Name: "get", Short: "ContactsGet", Doc: getDoc, Output: contactSchema,
		Input: `{"type": "object", "properties": {
    "id": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "The contact, as a list shows it."}
  }, "required": ["id"], "additionalProperties": false}`,
		Examples: []tool.Example{module.Example("one", `{"id": "/ann/contacts/7f3a.vcf"}`)},
		Aliases: []string{
			"get_contact", "read_contact", "contact_details", "show a contact", "all about a person", "afficher un contact",
			"Kontakt anzeigen", "ver un contacto", "mostrare un contatto", "查看联系人", "連絡先を見る", "показать контакт",
		},
		Tags: []string{"get", "read", "details"}, Runtime: reads(), Handler: handler("get", get),
	}
}

func get(ctx context.Context, c *call, in contactArgs) (*tool.Result, error) {
	o, card, book, err := c.object(ctx, in.ID, "")
	if err != nil {
		return nil, err
	}
	d := dataOf(card.Contact(), *o, book.Name)
	return told(d.line(true), fence.Quoted, d)
}
