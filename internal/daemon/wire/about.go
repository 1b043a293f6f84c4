package wire

import (
	"callgate/internal/app"
	"callgate/internal/protocol"
)

// AppAbout converts what an app file says of its app for people; nil: nothing.
func AppAbout(a *app.App) *protocol.AppAbout {
	if a.Path == "" { // the user's own file is nobody's app
		return nil
	}
	about := &protocol.AppAbout{
		Name: a.Name, ShortName: a.ShortName, Version: a.Version, Description: a.Description, Author: a.Author,
		Icon: a.Icon, Color: a.Color, Category: a.Category, Tags: a.Tags,
	}
	for _, p := range a.QuickPrompts {
		about.QuickPrompts = append(about.QuickPrompts, protocol.QuickPrompt(p))
	}
	return about
}
