package doctext

import (
	"encoding/xml"
	"net/url"
	"path"
	"strings"

	"callgate/tool"
)

// book reads an EPUB: its pages in their order, each like a page of the web.
func (a *archived) book() error {
	index := ""
	err := a.walk("META-INF/container.xml", func(t xml.Token) bool {
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "rootfile" && index == "" {
			index = attr(e, "full-path")
		}
		return index == ""
	})
	if err != nil {
		return a.missing(err)
	}
	files, title, err := a.spine(index)
	if err != nil {
		return a.missing(err)
	}
	for _, file := range files {
		if a.full() {
			break
		}
		content, err := a.all(file)
		if tool.KindOf(err) == tool.Limited {
			return err
		}
		text, problem := "", err
		if err == nil {
			text, problem = a.decode(content, true)
		}
		if problem != nil {
			a.warn("%s in it could not be read", tool.Truncate(file))
			continue
		}
		a.html(text, file)
	}
	if title != "" {
		a.doc.Title = title
	}
	return nil
}

// spine lists the pages of a book in the order in which they are read, and its title.
func (a *archived) spine(index string) (files []string, title string, err error) {
	items := map[string]string{}
	naming := false
	err = a.walk(index, func(t xml.Token) bool {
		switch t := t.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "title":
				naming = title == ""
			case "item":
				if href, err := url.PathUnescape(attr(t, "href")); err == nil && strings.Contains(attr(t, "media-type"), "html") {
					items[attr(t, "id")] = path.Join(path.Dir(index), href)
				}
			case "itemref":
				if file := items[attr(t, "idref")]; file != "" {
					files = append(files, file)
				}
			}
		case xml.EndElement:
			naming = false
		case xml.CharData:
			if naming && len(title) < maxHeading {
				title += string(t)
			}
		}
		return len(files) < maxFiles
	})
	return files, title, err
}
