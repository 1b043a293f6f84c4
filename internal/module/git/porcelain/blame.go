package porcelain

import (
	"strconv"
	"strings"
	"time"
)

// Blame is the commit that last changed each line of a file.
type Blame struct {
	Commits map[string]*Origin
	Lines   []Line
}

// Origin is a commit that a line comes from.
type Origin struct {
	Author  string `json:"author"`
	Email   string `json:"email"`
	Date    string `json:"date"`
	Subject string `json:"subject"`
}

// Line is one line of a file, and the commit that it comes from.
type Line struct {
	Number int    `json:"line"`
	Commit string `json:"commit"` // all zeros if it is not committed yet
	Text   string `json:"text"`
}

// ParseBlame reads git blame --porcelain. With an error it still returns the
// lines before it.
func ParseBlame(data string) (*Blame, error) {
	b := &Blame{Commits: map[string]*Origin{}}
	var at *Origin
	var line Line
	var seconds string
	for data != "" {
		record, rest, _ := strings.Cut(data, "\n")
		data = rest
		if text, ok := strings.CutPrefix(record, "\t"); ok {
			if at == nil {
				return b, malformed("blame", record)
			}
			line.Text = Text(text)
			b.Lines = append(b.Lines, line)
			at = nil
			continue
		}
		if at == nil { // the line that names a commit
			fields := strings.Fields(record)
			if len(fields) < 3 || !isID(fields[0]) {
				return b, malformed("blame", record)
			}
			number, err := strconv.Atoi(fields[2])
			if err != nil {
				return b, malformed("blame", record)
			}
			line = Line{Number: number, Commit: fields[0]}
			if at = b.Commits[fields[0]]; at == nil {
				at = &Origin{}
				b.Commits[fields[0]] = at
			}
			continue
		}
		key, value, _ := strings.Cut(record, " ")
		switch key {
		case "author":
			at.Author = Text(value)
		case "author-mail":
			at.Email = strings.Trim(Text(value), "<>")
		case "author-time":
			at.Date = formatTime(value, "+0000")
			seconds = value
		case "author-tz":
			at.Date = formatTime(seconds, value)
		case "summary":
			at.Subject = Text(value)
		}
	}
	if at != nil {
		return b, malformed("blame", "")
	}
	return b, nil
}

// formatTime writes a time of Git's (seconds, and a zone such as +0200) in ISO
// 8601; "" if it is not valid.
func formatTime(seconds, zone string) string {
	n, err := strconv.ParseInt(seconds, 10, 64)
	offset, err2 := time.Parse("-0700", zone)
	const maxSeconds = 253402300799 // the year 9999
	if err != nil || err2 != nil || n < 0 || n > maxSeconds {
		return ""
	}
	return time.Unix(n, 0).In(offset.Location()).Format(time.RFC3339)
}
