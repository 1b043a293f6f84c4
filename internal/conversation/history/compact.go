package history

import (
	"slices"

	"callgate/llm"
	"callgate/tool"
)

// compact shows a model less of what was before. Whatever the event says, a
// call keeps its result, and a call without a result stays: the state does not
// trust the writer of a log with that.
func (s *State) compact(c Compaction) {
	shown := slices.Clone(s.Messages) // a caller that holds them sees no change
	for _, cut := range c.Shortened {
		shorten(shown, cut)
	}
	if c.Summary == "" {
		s.Messages = shown
		return
	}
	stays := s.keptMessages(c)
	messages, origins := []llm.Message{llm.TextMessage(llm.User, c.Summary)}, []Origin{{Type: Compacted}}
	for i, m := range shown {
		if stays[i] {
			messages, origins = append(messages, m), append(origins, s.Origins[i])
		}
	}
	s.Messages, s.Origins = messages, origins
}

// keptMessages says which messages a compaction leaves: the last ones and those that
// are pinned, and with each call its result.
func (s *State) keptMessages(c Compaction) []bool {
	stays := make([]bool, len(s.Messages))
	for i := max(len(stays)-max(c.Kept, 0), 0); i < len(stays); i++ {
		stays[i] = true
	}
	for _, i := range c.Pinned {
		if 0 <= i && i < len(stays) {
			stays[i] = true
		}
	}
	open := len(s.open) > 0
	for i := len(stays) - 1; i >= 0; i-- {
		results := i+1 < len(stays) && s.Messages[i+1].Role == llm.Tool
		switch {
		case s.Messages[i].Role != llm.Assistant:
		case open: // its calls may still be answered
			stays[i], open = true, false
			if results {
				stays[i+1] = true
			}
		case results:
			both := stays[i] || stays[i+1]
			stays[i], stays[i+1] = both, both
		}
	}
	return stays
}

// shorten shows a result in part.
func shorten(messages []llm.Message, cut Shortened) {
	if cut.Message < 0 || cut.Message >= len(messages) {
		return
	}
	m := &messages[cut.Message]
	for i, p := range m.Parts {
		if p.Result == nil || p.Result.ID != cut.Call {
			continue
		}
		less := *p.Result
		less.Content = []tool.Content{tool.Text(cut.Text)}
		m.Parts = slices.Clone(m.Parts)
		m.Parts[i].Result = &less
		return
	}
}
