package vcard_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/module/contacts/vcard"
)

var now = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func crlf(text string) []byte { return []byte(strings.ReplaceAll(text, "\n", "\r\n")) }

const apple = `BEGIN:VCARD
VERSION:3.0
PRODID:-//Apple Inc.//iOS 17//EN
N:Müller;Anna;Maria;Dr.;
FN:Dr. Anna Müller
ORG:Blumen & Söhne\, GmbH;Einkauf
item1.EMAIL;type=INTERNET;type=pref:anna@example.com
item1.X-ABLabel:_$!<School>!$_
EMAIL;TYPE="work,internet":a.mueller@firma.example
TEL;TYPE=CELL,VOICE:+49 170 1234567
item2.ADR;TYPE=HOME:;;Weg 1;Köln;;50667;Deutschland
item2.X-ABADR:de
NOTE:eins\nzwei\; drei
X-STRANGE;FOO="a:b;c":kept as
  it is
PHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQ
BDAY;X-APPLE-OMIT-YEAR=1604:1604-03-14
UID:abc-1
END:VCARD
`

func TestReadAndChange(t *testing.T) {
	t.Parallel()
	c, err := vcard.Parse(crlf(apple))
	if err != nil {
		t.Fatal(err)
	}
	want := vcard.Contact{
		UID: "abc-1", Name: "Dr. Anna Müller", Given: "Anna", Family: "Müller", Organization: "Blumen & Söhne, GmbH, Einkauf",
		Birthday: "1604-03-14", Note: "eins\nzwei; drei", Photo: true,
		Emails:    []vcard.Value{{Value: "anna@example.com", Type: "school"}, {Value: "a.mueller@firma.example", Type: "work"}},
		Phones:    []vcard.Value{{Value: "+49 170 1234567", Type: "cell"}},
		Addresses: []vcard.Address{{Street: "Weg 1", City: "Köln", PostalCode: "50667", Country: "Deutschland", Type: "home"}},
	}
	if diff := cmp.Diff(want, c.Contact()); diff != "" {
		t.Error(diff)
	}
	if !bytes.Equal(c.Bytes(), crlf(apple)) {
		t.Errorf("%s", c.Bytes())
	}
	family, note, emails := "Schmidt", "", []vcard.Value{{Value: "a.mueller@firma.example", Type: "work"}, {Value: "neu@example.com"}}
	got, err := c.Write(now, vcard.Change{Family: &family, Note: &note, Emails: &emails})
	if err != nil {
		t.Fatal(err)
	}
	after := strings.NewReplacer(
		"N:Müller;", "N:Schmidt;", "FN:Dr. Anna Müller", "FN:Dr. Anna Maria Schmidt",
		"item1.EMAIL;type=INTERNET;type=pref:anna@example.com\nitem1.X-ABLabel:_$!<School>!$_\n", "",
		"TEL;", "EMAIL:neu@example.com\nTEL;", "NOTE:eins\\nzwei\\; drei\n", "", "END:", "REV:20260302T120000Z\nEND:",
	).Replace(apple)
	if diff := cmp.Diff(string(crlf(after)), string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	name, note := "Zoë van der Berg", "one\r\ntwo, "+strings.Repeat("ö", 100)
	day, org := "--03-14", "A;B\nEND:VCARD"
	data, err := vcard.New("u1", now, vcard.Change{
		Name: &name, Note: &note, Birthday: &day, Organization: &org,
		Emails: &[]vcard.Value{{Value: "z@example.com", Type: "Home"}}, URLs: &[]vcard.Value{{Value: "https://e.com/a,b;c"}},
		Addresses: &[]vcard.Address{{Street: "1, Main; St", City: "X"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.SplitSeq(string(data), "\r\n") {
		if len(text) > 75 || strings.Contains(text, "\n") {
			t.Errorf("%q", text)
		}
	}
	c, err := vcard.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	want := vcard.Contact{
		UID: "u1", Name: name, Given: "Zoë van der", Family: "Berg", Organization: org, Birthday: day,
		Note: strings.ReplaceAll(note, "\r", ""), Emails: []vcard.Value{{Value: "z@example.com", Type: "home"}},
		URLs:      []vcard.Value{{Value: "https://e.com/a,b;c"}},
		Addresses: []vcard.Address{{Street: "1, Main; St", City: "X"}},
	}
	if diff := cmp.Diff(want, c.Contact()); diff != "" {
		t.Error(diff)
	}
}

func TestHostileCards(t *testing.T) {
	t.Parallel()
	card := func(body string) string { return "BEGIN:VCARD\nVERSION:4.0\n" + body + "END:VCARD\n" }
	for name, c := range map[string]struct{ text, says string }{
		"empty":       {"", "no vCard"},
		"a page":      {"<html>:x\n", "no vCard"},
		"no end":      {"BEGIN:VCARD\nVERSION:3.0\nFN:x\n", "no vCard"},
		"two":         {card("FN:a\nEND:VCARD\nBEGIN:VCARD\n"), "more than one"},
		"old":         {"BEGIN:VCARD\nVERSION:2.1\nEND:VCARD\n", `vCard "2.1"`},
		"no version":  {"BEGIN:VCARD\nFN:x\nEND:VCARD\n", `vCard ""`},
		"no value":    {card("FN\n"), "has no value"},
		"open quote":  {card("FN;X=\"a:b\n"), "has no value"},
		"many lines":  {card(strings.Repeat("A:b\n", 6000)), "more than 5000 lines"},
		"huge":        {card("PHOTO:" + strings.Repeat("x", 9<<20) + "\n"), "more than"},
		"not in UTF8": {card("FN:\xff\n"), "UTF-8"},
	} {
		if _, err := vcard.Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	empty, word := "", "x y"
	for says, ch := range map[string]vcard.Change{
		"needs a name": {Name: &empty}, "a birthday": {Birthday: &word},
		"one line each": {Emails: &[]vcard.Value{{Value: "a\nTEL:1"}}},
		"is a word":     {Emails: &[]vcard.Value{{Value: "a", Type: "home:x\n"}}},
	} {
		c, err := vcard.Parse([]byte(card("FN:x\n")))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(now, ch); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// FuzzParse: what is read can be written, read again as the same, and a change keeps the rest.
func FuzzParse(f *testing.F) {
	f.Add(crlf(apple), "x")
	f.Add([]byte("BEGIN:VCARD\nVERSION:4.0\nFN:x\nTEL;VALUE=uri:tel:+1\nEND:VCARD"), "a\r\nb")
	f.Add(crlf(apple), strings.Repeat("\x98", 200))
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		c, err := vcard.Parse(data)
		if err != nil {
			return
		}
		again, err := vcard.Parse(c.Bytes())
		if err != nil {
			t.Fatalf("%q: %v", c.Bytes(), err)
		}
		before := c.Contact()
		if diff := cmp.Diff(before, again.Contact()); diff != "" {
			t.Fatal(diff)
		}
		changed, err := again.Write(now, vcard.Change{Note: &text})
		if err != nil {
			t.Fatal(err)
		}
		last, err := vcard.Parse(changed)
		if err != nil {
			if strings.Contains(err.Error(), "UTF-8") || strings.Contains(err.Error(), "more than") {
				return
			}
			t.Fatalf("%q: %v", changed, err)
		}
		after := last.Contact()
		before.Note, after.Note = "", ""
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatal(diff)
		}
	})
}
