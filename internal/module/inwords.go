package module

import "callgate/tool"

// InWords is the result of a call whose summary says all that a reader must know: data are
// for programs, and are not shown beside it.
func InWords(summary string, data any) (*tool.Result, error) {
	r, err := tool.OK(summary, data)
	if err == nil {
		r.Content = []tool.Content{tool.Text(summary)}
	}
	return r, err
}
