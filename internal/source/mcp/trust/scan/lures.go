package scan

import "strings"

// The rules of this file, beside those on phrases.
const (
	ruleCall   = "fake-call"
	ruleRetire = "retires-other-tool"
)

const (
	whyCall    = "it imitates a call of a tool, as a model writes one, or its result"
	whyRetire  = "it calls another tool unfit, and itself the one to use in its place"
	whyComment = "it hides an order in a comment, which a model reads and nobody is shown"
	whyHistory = "a model fills in what a parameter is called, and this one asks for the conversation"
)

// lureTable lists phrases that ask for what is the user's own, or pass for what a
// model itself writes.
var lureTable = []phrase{
	{ruleCall, Serious, whyCall,
		[]string{"tool_call", "function_call", "invoke", "<function", "tool_use", "tool_result", "function_result",
			"tool_code", "python_tag", "tool_response"}, []string{"<", "[tool", "```tool"},
		`</?(?:antml:)?(?:tool_calls?|function_calls?|invoke|tool_use|tool_results?|function_results?|tool_response)` +
			`(?:\s+[a-z]+\s*=[^>]*)?>|<function=[\w.-]+>|<\|(?:python_tag|tool_calls?(?:_begin|_end)?|tool_response)\|>|` +
			`\[/?tool_(?:calls?|results?)\]|` + "```tool_(?:code|call)", ""},
	{ruleCall, Serious, whyCall,
		[]string{`"arguments"`, `"parameters"`, `"input"`}, []string{`"name"`, `"tool"`, `"function"`},
		`\b(?:assistant|output|respond|reply|emit|print|now|then|next)\b[^{}\n]{0,60}\{\s*"(?:name|tool|function)"\s*:\s*` +
			`"[\w.-]+"\s*,\s*"(?:arguments|parameters|input)"\s*:`, example},

	{ruleRetire, Serious, whyRetire,
		[]string{"deprecated", "obsolete", "insecure", "compromised", "broken", "retired", "no longer safe"},
		[]string{"use me", "use this", "call me", "call this", "use it instead"},
		`\b[a-z.]+["'\x60]?\s+(?:is|are|was|has\s+been)\s+(?:now\s+)?` +
			`(?:deprecated|obsolete|insecure|compromised|broken|retired|no\s+longer\s+safe)\b[^!?\n]{0,60}?` +
			`\b(?:use|call)\s+(?:me|this\s+(?:tool|one|function)|it\s+instead)\b`,
		`\bthis\s*$|[a-z0-9]_\w*["'\x60]*\s*$`}, // itself; or a name, which is judged by whose it is: see crossings

	{ruleHTML, Serious, whyComment, []string{"<!--"},
		[]string{"must", "always", "never", "ignore", "assistant", "model", "agent", "before", "whenever", "instead",
			"send", "include", "read ", "call ", "pass ", "use ", "run "},
		`<!--[^>]{0,400}?\b(?:you|must|always|never|ignore|assistant|model|agents?|before|whenever|instead|send|include|` +
			`read|call|pass|use|run)\s+[^>]{0,400}?\S`, ""},

	{ruleSecrets, Serious, whySecrets,
		[]string{"printenv", "env ", "env`", "env'", "env\"", "environment", "whoami", "history"},
		[]string{"run ", "execute", "call "},
		`\b(?:run|execute|call)\s+(?:the\s+)?(?:command\s+|program\s+)?["'\x60]*(?:env|printenv|set|history|whoami|uname -a)` +
			`["'\x60]*\s+(?:\S+\s+){0,6}?(?:and|then)\s+(?:then\s+)?` + passes + few +
			`(?:it|its|them|contents?|values?|output|result|everything)\b`, ""},
	{ruleSecrets, Serious, whySecrets,
		[]string{"token", "api key", "api_key", "password", "credential", "cookie", "private key", "secret"},
		[]string{"include", "append", "paste", "attach", "embed"},
		`\b(?:include|append|paste|attach|embed)\s+(?:also\s+)?(?:your|the\s+user'?s|their)\s+(?:own\s+|current\s+|full\s+|` +
			`personal\s+|session\s+|access\s+|auth\s+|bearer\s+|api\s+|github\s+|oauth\s+)*` +
			`(?:tokens?|api[\s_-]?keys?|passwords?|credentials?|cookies?|private\s+keys?|secrets?)\b`, example},

	{ruleConversation, Serious, whyConversation, conversationCues,
		[]string{"include", "append", "pass ", "put ", "copy", "paste", "attach", "provide", "fill"},
		`\b(?:include|append|pass|put|copy|paste|attach|provide|fill\s+in)\s+` + few +
			`(?:entire|full|whole|complete|verbatim)\s+` + few +
			`(?:conversation|chat\s+history|chat\s+log|previous\s+messages|message\s+history|system\s+prompt)\b` +
			`[^.!?\n]{0,60}\b(?:in|into|as|to)\s+(?:the|this|a)\s+(?:\S+\s+)?(?:parameter|argument|field|note|context|call)\b`,
		negated},
}

// historyKey scans for a property whose name asks for the conversation: a model
// fills in what a parameter is called. A tool that talks to a model has a honest
// use for a history or a system prompt; none has one for all that was said.
func (s *scanner) historyKey(p *piece) {
	if len(p.raw) < 12 {
		return
	}
	var words []string
	for word := range strings.FieldsFuncSeq(snake(p.raw), func(r rune) bool { return strings.ContainsRune("-_ ./", r) }) {
		words = append(words, strings.ToLower(word))
	}
	has := func(list ...string) bool {
		for _, word := range words {
			for _, one := range list {
				if word == one {
					return true
				}
			}
		}
		return false
	}
	whole := has("full", "entire", "whole", "complete", "verbatim", "all", "everything", "raw")
	said := has("conversation", "chat", "dialogue", "dialog", "transcript", "history", "messages", "prompts")
	ours := has("conversation", "chat", "dialogue", "user", "previous", "session", "llm", "assistant", "your")
	prompt := has("system") && has("prompt", "instructions", "message") && (whole || has("your", "current", "assistant"))
	far := strings.Contains(strings.Join(words, " "), "so far") && said
	if whole && said && ours || prompt || far {
		s.report(ruleConversation, Serious, s.where(p.at), p.raw, whyHistory)
	}
}

// snake puts an underscore between the words of a name such as fullChatHistory.
func snake(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if i > 0 && 'A' <= name[i] && name[i] <= 'Z' && 'a' <= name[i-1] && name[i-1] <= 'z' {
			b.WriteByte('_')
		}
		b.WriteByte(name[i])
	}
	return b.String()
}
