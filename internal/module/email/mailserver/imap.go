package mailserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-sasl"

	"callgate/tool"
)

// Mailbox is an open mailbox. Its methods are called one after the other; Close ends it.
type Mailbox struct {
	ctx    context.Context
	host   string
	conn   *boundedConn
	client *imapclient.Client
}

// Open connects to the mailbox and logs in. At most so many bytes are read of it.
func (a *Account) Open(ctx context.Context, most int64) (*Mailbox, error) {
	conn, err := a.dial(ctx, a.IMAP, most)
	if err != nil {
		return nil, (&Mailbox{ctx: ctx, host: a.IMAP.Host}).fail(err)
	}
	m := &Mailbox{ctx: ctx, host: a.IMAP.Host, conn: conn}
	if a.IMAP.TLS == StartTLS {
		m.client, err = imapclient.NewStartTLS(conn, &imapclient.Options{TLSConfig: a.tls(a.IMAP)})
	} else {
		m.client = imapclient.New(conn, nil)
		err = m.client.WaitGreeting()
	}
	if err != nil {
		_ = conn.Close()
		return nil, m.fail(err)
	}
	if err := a.login(m.client); err != nil {
		defer m.Close()
		var answer *imap.Error
		var token *sasl.OAuthBearerError
		if errors.As(err, &answer) || errors.As(err, &token) {
			return nil, tool.Errorf(op, tool.Denied, "%s refused the login: %s", m.host, tool.TruncateTo(err.Error(), 200)).
				WithHint("%s", loginHint)
		}
		return nil, m.fail(err)
	}
	return m, nil
}

func (a *Account) login(c *imapclient.Client) error {
	switch {
	case !a.OAuth:
		return c.Login(a.Username, a.Secret).Wait()
	case c.Caps().Has(imap.AuthCap(sasl.OAuthBearer)):
		return c.Authenticate(sasl.NewOAuthBearerClient(&sasl.OAuthBearerOptions{
			Username: a.Username, Token: a.Secret, Host: a.IMAP.Host, Port: a.IMAP.Port,
		}))
	}
	return c.Authenticate(imapXOAuth2{a.Username, a.Secret})
}

// Close ends the session.
func (m *Mailbox) Close() {
	_ = m.conn.Close()
	_ = m.client.Close()
}

// fail is the error of a mailbox that could not be used.
func (m *Mailbox) fail(err error) error {
	if e := failed(m.ctx, m.host, m.conn, err); e != nil {
		return e
	}
	var answer *imap.Error
	if errors.As(err, &answer) {
		return tool.Errorf(op, tool.Failed, "%s answered: %s", m.host, tool.Truncate(answer.Text))
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return tool.Errorf(op, tool.Unavailable, "%s cannot be used now: %s", m.host, tool.TruncateTo(text, 300)).
		WithHint("try again later; check imap and imap_tls in the app file if it stays so")
}

// Folder is a folder of a mailbox.
type Folder struct {
	Name   string
	Use    string // drafts, sent, trash, junk, archive, inbox; "": none of these
	Total  int
	Unread int
}

// uses are the marks of folders, and what they are called where a server has no marks.
var uses = []struct {
	use   string
	mark  imap.MailboxAttr
	names []string
}{
	{"drafts", imap.MailboxAttrDrafts, []string{"drafts", "draft", "entwürfe", "brouillons", "borradores", "bozze"}},
	{"sent", imap.MailboxAttrSent, []string{"sent", "sent mail", "sent items", "sent messages", "gesendet", "envoyés", "enviados"}},
	{"trash", imap.MailboxAttrTrash, []string{"trash", "deleted items", "papierkorb", "corbeille", "papelera"}},
	{"junk", imap.MailboxAttrJunk, []string{"junk", "spam", "junk e-mail"}},
	{"archive", imap.MailboxAttrArchive, []string{"archive", "archives", "archiv"}},
}

// Folders lists the folders that can be opened, the inbox first. With counts it says how
// many mails each has.
func (m *Mailbox) Folders(counts bool) ([]Folder, error) {
	options := &imap.ListOptions{}
	if m.client.Caps().Has(imap.CapSpecialUse) {
		options.ReturnSpecialUse = true
	}
	list, err := m.client.List("", "*", options).Collect()
	if err != nil {
		return nil, m.fail(err)
	}
	var all []Folder
	for _, l := range list {
		if slices.Contains(l.Attrs, imap.MailboxAttrNoSelect) || slices.Contains(l.Attrs, imap.MailboxAttrNonExistent) {
			continue
		}
		f := Folder{Name: l.Mailbox, Use: useOf(l)}
		if counts {
			s, err := m.Status(l.Mailbox)
			if err != nil {
				return nil, err
			}
			f.Total, f.Unread = s.Total, s.Unread
		}
		all = append(all, f)
	}
	slices.SortStableFunc(all, func(a, b Folder) int {
		return cmp.Or(-compareBool(a.Use == "inbox", b.Use == "inbox"), strings.Compare(a.Name, b.Name))
	})
	return all, nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func useOf(l *imap.ListData) string {
	if strings.EqualFold(l.Mailbox, "INBOX") {
		return "inbox"
	}
	for _, u := range uses {
		if slices.Contains(l.Attrs, u.mark) {
			return u.use
		}
	}
	last := strings.ToLower(l.Mailbox)
	if l.Delim != 0 {
		last = last[strings.LastIndex(last, string(l.Delim))+1:]
	}
	for _, u := range uses {
		if slices.Contains(u.names, last) {
			return u.use
		}
	}
	return ""
}

// FolderFor returns the folder with a use; "": there is none.
func (m *Mailbox) FolderFor(use string) (string, error) {
	all, err := m.Folders(false)
	if err != nil {
		return "", err
	}
	for _, f := range all {
		if f.Use == use {
			return f.Name, nil
		}
	}
	return "", nil
}

// State is what a folder holds at one moment.
type State struct {
	Total, Unread int
	Next          uint32 // the number of the next mail that comes
	Validity      uint32 // numbers count as long as this is the same
}

// Status returns the state of a folder.
func (m *Mailbox) Status(folder string) (State, error) {
	d, err := m.client.Status(folder, &imap.StatusOptions{
		NumMessages: true, NumUnseen: true, UIDNext: true, UIDValidity: true,
	}).Wait()
	if err != nil {
		return State{}, m.noFolder(folder, err)
	}
	s := State{Next: uint32(d.UIDNext), Validity: d.UIDValidity}
	if d.NumMessages != nil {
		s.Total = int(*d.NumMessages)
	}
	if d.NumUnseen != nil {
		s.Unread = int(*d.NumUnseen)
	}
	return s, nil
}

// Select opens a folder for reading.
func (m *Mailbox) Select(folder string) error {
	if _, err := m.client.Select(folder, &imap.SelectOptions{ReadOnly: true}).Wait(); err != nil {
		return m.noFolder(folder, err)
	}
	return nil
}

// noFolder says that a folder is not there, with those that are.
func (m *Mailbox) noFolder(folder string, err error) error {
	var answer *imap.Error
	if !errors.As(err, &answer) {
		return m.fail(err)
	}
	e := tool.Errorf(op, tool.NotFound, "the folder %q cannot be opened: %s",
		tool.Truncate(folder), tool.Truncate(answer.Text))
	if all, err := m.Folders(false); err == nil {
		for _, f := range all {
			e.Similar = append(e.Similar, f.Name)
		}
		e.Hint = "there are " + tool.TruncateTo(strings.Join(e.Similar, ", "), 500)
	}
	return e
}

// Query says which mails are looked for; the zero value finds all.
type Query struct {
	Text, From, To, Subject string
	ID                      []string  // any of these Message-IDs, or an answer to one
	Since, Before           time.Time // days
	Unread, Flagged         bool
	FirstUID, LastUID       uint32 // 0: no bound
}

// Find returns the numbers of the mails in the open folder, the newest first.
func (m *Mailbox) Find(q Query) ([]uint32, error) {
	c := &imap.SearchCriteria{Since: q.Since, Before: q.Before}
	for name, value := range map[string]string{"From": q.From, "To": q.To, "Subject": q.Subject} {
		if value != "" {
			c.Header = append(c.Header, imap.SearchCriteriaHeaderField{Key: name, Value: value})
		}
	}
	if q.Text != "" {
		c.Text = []string{q.Text}
	}
	if q.Unread {
		c.NotFlag = []imap.Flag{imap.FlagSeen}
	}
	if q.Flagged {
		c.Flag = []imap.Flag{imap.FlagFlagged}
	}
	if q.FirstUID > 0 || q.LastUID > 0 {
		var set imap.UIDSet
		set.AddRange(imap.UID(max(q.FirstUID, 1)), imap.UID(q.LastUID)) // 0 is the last there is
		c.UID = []imap.UIDSet{set}
	}
	if len(q.ID) > 0 {
		c.And(anyOf(q.ID))
	}
	found, err := m.client.UIDSearch(c, nil).Wait()
	if err != nil {
		return nil, m.fail(err)
	}
	var all []uint32
	for _, uid := range found.AllUIDs() {
		if n := uint32(uid); n >= q.FirstUID && (q.LastUID == 0 || n <= q.LastUID) { // n:* is never empty
			all = append(all, n)
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all, nil
}

// anyOf finds the mails of a thread: those with one of the IDs, and those that answer one.
func anyOf(ids []string) *imap.SearchCriteria {
	var any *imap.SearchCriteria
	for _, id := range ids {
		for _, name := range []string{"Message-Id", "References", "In-Reply-To"} {
			one := imap.SearchCriteria{Header: []imap.SearchCriteriaHeaderField{{Key: name, Value: id}}}
			if any == nil {
				any = &one
			} else {
				any = &imap.SearchCriteria{Or: [][2]imap.SearchCriteria{{*any, one}}}
			}
		}
	}
	return any
}

// Fetched is a mail as the server has it.
type Fetched struct {
	UID     uint32
	At      time.Time // when it came
	Size    int64     // of the whole
	Unread  bool
	Flagged bool
	Raw     []byte // its beginning, or all of it
}

// Fetch reads the beginning of mails of the open folder, in the order of uids; 0 reads
// them whole. Mails that are gone are left out.
func (m *Mailbox) Fetch(uids []uint32, most int64) ([]Fetched, error) {
	if len(uids) == 0 {
		return nil, nil
	}
	var set imap.UIDSet
	for _, uid := range uids {
		set.AddNum(imap.UID(uid))
	}
	section := &imap.FetchItemBodySection{Peek: true}
	if most > 0 {
		section.Partial = &imap.SectionPartial{Size: most}
	}
	list, err := m.client.Fetch(set, &imap.FetchOptions{
		UID: true, Flags: true, RFC822Size: true, InternalDate: true, BodySection: []*imap.FetchItemBodySection{section},
	}).Collect()
	if err != nil {
		return nil, m.fail(err)
	}
	var all []Fetched
	for _, l := range list {
		if i := slices.Index(uids, uint32(l.UID)); i < 0 || len(l.BodySection) == 0 {
			continue
		}
		all = append(all, Fetched{
			UID: uint32(l.UID), At: l.InternalDate, Size: l.RFC822Size, Raw: l.BodySection[0].Bytes,
			Unread: !slices.Contains(l.Flags, imap.FlagSeen), Flagged: slices.Contains(l.Flags, imap.FlagFlagged),
		})
	}
	slices.SortFunc(all, func(a, b Fetched) int {
		return slices.Index(uids, a.UID) - slices.Index(uids, b.UID)
	})
	return all, nil
}

// Size returns how large a mail of the open folder is.
func (m *Mailbox) Size(uid uint32) (int64, error) {
	list, err := m.client.Fetch(imap.UIDSetNum(imap.UID(uid)), &imap.FetchOptions{UID: true, RFC822Size: true}).Collect()
	if err != nil {
		return 0, m.fail(err)
	}
	if len(list) == 0 {
		return 0, tool.Errorf(op, tool.NotFound, "there is no message %d in this folder", uid).
			WithHint("email.receive lists those that are there")
	}
	return list[0].RFC822Size, nil
}

// Append puts a mail into a folder and returns its number there; 0: the server does not say.
func (m *Mailbox) Append(folder string, raw []byte, draft bool) (uint32, error) {
	options := &imap.AppendOptions{Flags: []imap.Flag{imap.FlagSeen}}
	if draft {
		options.Flags = append(options.Flags, imap.FlagDraft)
	}
	c := m.client.Append(folder, int64(len(raw)), options)
	_, err := c.Write(raw)
	if err = errors.Join(err, c.Close()); err != nil {
		return 0, m.fail(fmt.Errorf("writing a mail: %w", err))
	}
	data, err := c.Wait()
	if err != nil {
		return 0, m.noFolder(folder, err)
	}
	return uint32(data.UID), nil
}
