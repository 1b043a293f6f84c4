package scan

// phrase is a pattern of one rule. It is tried only on a text that contains one
// of the cues, and one of also if there are any, which makes a scan cheap. A cue
// has at least four bytes.
type phrase struct {
	rule     string
	severity Severity
	why      string
	cues     []string
	also     []string
	match    string // in the folded text
	unless   string // in the text before the match: then the match does not count
}

// The rules on phrases. Several phrases may have the same rule.
const (
	ruleOverride     = "override-instructions"
	ruleConceal      = "conceal-from-user"
	ruleBlock        = "instruction-block"
	ruleRole         = "role-marker"
	ruleSecrets      = "secrets"
	ruleConversation = "conversation"
	ruleRedirect     = "redirect"
	rulePrefer       = "preference"
	ruleApproval     = "skip-approval"
	ruleHTML         = "html-comment"
	ruleImage        = "image"
)

const (
	whyOverride     = "it tells the model to set aside what it was told before; a description has no say in that"
	whyConceal      = "it tells the model to keep something from the user"
	whyBlock        = "it is dressed as an order from above the conversation, to be obeyed rather than read"
	whyRole         = "it imitates a message of the system or of another speaker"
	whySecrets      = "it asks the model to fetch or pass on files or keys that are the user's own"
	whyPath         = "it names a file in which secrets lie"
	whyConversation = "it asks the model to pass on the conversation"
	whyRedirect     = "it diverts what the user sends to somebody else"
	whyApproval     = "it tells the model not to ask, where asking is the user's own safeguard"
	whyConsent      = "it speaks for the user, who has not been asked"
	whyPrefer       = "it asks to be chosen over other tools, or before them"
	whyHTML         = "a comment is not shown where the text is rendered, and a model reads it"
	whyImage        = "an image is fetched as soon as it is shown, and its address can carry data away"
)

// Parts of the patterns.
const (
	not = `(?:do\s+not|don'?t|never|must\s+not|mustn'?t|should\s+not|shouldn'?t|shall\s+not|cannot|can'?t|may\s+not|` +
		`avoid|refrain\s+from|without|not\s+to)\s+` +
		`(?:(?:ever|explicitly|directly|openly|under\s+any\s+circumstances,?|need\s+to|have\s+to)\s+)?`
	user    = `(?:the\s+|your\s+|any\s+|this\s+)?(?:end[- ])?(?:user|human|operator|customer|person)\b`
	few     = `(?:\S+\s+){0,3}?`
	some    = `(?:\S+\s+){0,8}?`
	orders  = `(?:instructions?|directives?|directions|guidelines|commands|guardrails|safeguards|programming|training)\b`
	sayings = `(?:prompts?|rules|messages?|context|conversation|polic(?:y|ies)|constraints|restrictions)\b`
	earlier = `(?:previous|prior|above|earlier|preceding|foregoing|former|existing|original|initial|your|system|` +
		`developer|safety)\s+`
	takes = `(?:read|cat|open|include|send|upload|access|copy|pass|provide|attach|fetch|load|extract|retrieve|get|` +
		`print|dump|post|submit)\s+`
	passes = `(?:send|forward|upload|transmit|exfiltrate|leak|post|e-?mail|copy|submit|relay|append|attach|include|` +
		`pass|provide|share|put)\s+`
	ships    = `(?:send|forward|upload|transmit|exfiltrate|leak|post|e-?mail|relay|smuggle)\s+`
	everyone = `(?:all|any|every|the\s+user'?s|their|stored|available|found|other)\s+`
	address  = `(?:[\w.+-]+@[\w-]+\.[\w.]+|\+\d[\d -]{6,})`
	example  = `(?:\be\.g\.|\bfor\s+example|\bexample:|\bsuch\s+as\b|\blike\b|\bdefaults?\b)[^!?\n]{0,60}$`
	negated  = `\b(?:not|never|don't|whether|if)\b[^.!?\n]*$`
	files    = `\S*?(?:\B\.ssh\b|\bid_(?:rsa|ed25519|ecdsa|dsa)\b|\B\.aws\b|\.netrc\b|\.pgpass\b|\.git-credentials|` +
		`\.kube/config|\.docker/config\.json|` +
		`\.gnupg\b|\.bash_history|\.zsh_history|/etc/(?:passwd|shadow)|wallet\.dat|\B\.env\b|\bmcp\.json|` +
		`claude_desktop_config|\blogin\.keychain)`
	keys = `(?:api[\s_-]?keys?|access\s+tokens?|auth\s+tokens?|passwords?|credentials|secrets|private\s+keys?|` +
		`ssh\s+keys?|environment\s+variables|env\s+vars|cookies|session\s+tokens?|seed\s+phrases?)\b`
)

var (
	fileCues = []string{".ssh", "id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", ".aws", ".netrc", ".pgpass",
		".git-credentials", ".kube/config",
		".docker/config", ".gnupg", "_history", "/etc/passwd", "/etc/shadow", "wallet.dat", ".env", "mcp.json",
		"claude_desktop_config", "login.keychain"}
	keyCues = []string{"apikey", "api_key", "tokens", "password", "credentials", "secrets", "keys", "variables",
		"env vars", "cookies", "seed phrase"}
	shipCues = []string{"send ", "forward ", "upload ", "transmit", "exfiltrat", "leak ", "post ", "mail ", "relay ",
		"smuggle"}
	conversationCues = []string{"conversation", "chat", "messages", "message history", "context window", "system prompt",
		"dialog", "chain of thought"}
	notCues  = []string{"not", "n't", "dont", "never", "avoid", "without", "refrain"}
	userCues = []string{"user", "human", "operator", "customer", "person"}
)

// phraseTable lists the phrases in English.
var phraseTable = []phrase{
	{ruleOverride, Serious, whyOverride,
		[]string{"ignor", "disregard", "forget", "overrid", "bypass", "supersede"},
		[]string{"nstruction", "directive", "directions", "guideline", "commands", "guardrail", "safeguard", "programming",
			"training"},
		`\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|es|ing)|bypass(?:ing)?|` +
			`supersedes?)\s+(?:(?:all|any|every|the|of|these|those|other)\s+)*` + earlier + few + orders, ""},
	{ruleOverride, Serious, whyOverride,
		[]string{"ignor", "disregard", "forget"}, []string{"prompt", "rules", "message", "context", "conversation", "polic",
			"constraints", "restrictions"},
		`\b(?:ignore|disregard|forget)\s+(?:(?:all|any|the|of)\s+)*(?:previous|prior|earlier|preceding|foregoing|your|` +
			`system|safety|ethical)\s+` + few + sayings, ""},
	{ruleOverride, Serious, whyOverride,
		[]string{"ignor", "disregard", "forget"}, []string{"everything", "all"},
		`\b(?:ignore|disregard|forget)\s+(?:everything\s+(?:above|before|else|you|i|that\s+came)|` +
			`all\s+(?:of\s+)?(?:the\s+above|that|your)\b|all\s+other\s+(?:instructions|tools|rules))`, ""},
	{ruleOverride, Serious, whyOverride,
		[]string{"from"}, []string{"now"},
		`\bfrom\s+now\s+on,?\s+(?:you|always|never|all|every|do|act|whenever|respond|the\s+(?:assistant|model|agent))\b`, ""},
	{ruleOverride, Serious, whyOverride,
		[]string{"instructions:", "instructions :", "your new", "your real", "your true"}, nil,
		`\b(?:new|updated)\s+(?:system\s+)?instructions?\s*:|\byour\s+(?:new|real|true)\s+(?:role|task|goal|purpose|` +
			`instructions?|objective)\b`, ""},

	{ruleConceal, Serious, whyConceal,
		[]string{" tell", "\ntell", "inform ", "inform\n", "informing", " warn", "\nwarn", "let the", "letting"}, notCues,
		not + `(?:tell(?:ing)?|inform(?:ing)?|warn(?:ing)?|let(?:ting)?)\s+` + user, ""},
	{ruleConceal, Serious, whyConceal,
		[]string{"notify", "alert"}, userCues,
		`(?:do\s+not|don'?t|never|must\s+not|should\s+not)\s+(?:notify|alert)\s+` + user,
		`\b(?:if|whether|when|flag|true|false|option)\b[^.!?]*$`},
	{ruleConceal, Notice, whyConceal,
		[]string{"notifying", "alerting"}, []string{"without"},
		`without\s+(?:notifying|alerting)\s+` + user, ""},
	{ruleConceal, Serious, whyConceal,
		[]string{"mention", "reveal", "disclos", "report", "talk", "speak"}, notCues,
		not +
			`(?:mention(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|report(?:ing)?|talk(?:ing)?\s+about|speak(?:ing)?\s+of)\s+` +
			some + `(?:to|with)\s+` + user, ""},
	{ruleConceal, Serious, whyConceal,
		[]string{"mention"}, notCues,
		not +
			`mention(?:ing)?\s+(?:this|that\s+(?:you|this|it)|these|it|the\s+fact|anything|any\s+of\s+(?:this|these)|` +
			`the\s+(?:instructions?|reading|file|side\s*note|existence))\b`, `\b(?:if|unless)\b[^.!?,]*$`},
	{ruleConceal, Serious, whyConceal,
		[]string{"hide", "hidden", "conceal", "keep", "kept", "secret", "withhold", "obscure", "mask"}, []string{"user",
			"human"},
		`\b(?:hide|hidden|conceal|concealed|keep|kept|secret|withhold|obscure|mask)\s+(?:(?:this|that|it|them|these|all|` +
			`any|everything|the\s+\S+|hidden|secret|away|concealed)\s+){0,3}from\s+(?:the\s+)?(?:user|human)(?:[.,;:!)]|` +
			`\s*$|\s+(?:at|in|and|by|so|because|when|or|until|unless)\b)`, ""},
	{ruleConceal, Serious, whyConceal,
		[]string{"user"}, []string{"notice", "worry", "suspect", "realize", "realise", "find out", "know", "aware", "told",
			"informed", "see th"},
		`\buser\s+(?:does\s+not|doesn't|should\s+not|shouldn't|must\s+not|mustn't|will\s+not|won't|cannot|need\s+not|is|` +
			`isn't)\s+(?:be\s+|have\s+to\s+|need\s+to\s+|ever\s+)?` +
			`(?:notice|worry|suspect|realize|realise|find\s+out|know\s+(?:about|that|of)|unaware|aware\s+(?:of\s+(?:this|` +
			`it)|that\s+(?:you|this))|told|informed\s+(?:of|about)\s+this|see\s+(?:this|these))\b`, ""},
	{ruleConceal, Serious, whyConceal,
		[]string{"secretly", "silently", "covertly", "discreetly", "surreptitiously"}, nil,
		`\b(?:secretly|silently|covertly|discreetly|surreptitiously)\s+(?:also\s+)?(?:send|forward|copy|upload|` +
			`exfiltrate|collect|bcc|read|pass|include|append|call|transmit|record|log\s+(?:the|all|every))\b|\b(?:secretly|covertly|surreptitiously)\s+(?:\w+\s+)?(?:replac|chang|modif|alter|stor|sav|run|install|execut|download|delet|add|insert|access|monitor|track)`, ""},

	{ruleBlock, Serious, whyBlock,
		[]string{"important", "critical", "urgent", "mandatory", "secret", "hidden", "system", "sys>", "admin", "override",
			"developer", "attention", "priority"}, []string{"<"},
		`<\s*/?\s*(?:important|critical|urgent|mandatory|secret|hidden|system|sys|admin|override|developer|attention|` +
			`priority)(?:[ _-](?:instructions?|message|prompt|note|reminder|override|notice|rules?))?\s*>`, ""},
	{ruleBlock, Notice, whyBlock,
		[]string{"instruction", "rules", "must", "note_to", "warning"}, []string{"<"},
		`<\s*(?:instructions?|rules|must|note_to_(?:model|ai|assistant)|warning)\s*>`, ""},
	{ruleBlock, Serious, whyBlock,
		[]string{"system", "admin", "begin"}, []string{"override", "nstruction", "directive", "message", "prompt",
			"[system", "[admin"},
		`\bbegin\s+(?:system|hidden|secret)\s+(?:prompt|instructions?|message)|\b(?:system|admin)\s+override\s*[:!\]-]|` +
			`\b(?:important|critical|mandatory|new)\s+system\s+(?:instruction|directive|message|update)s?\b|` +
			`\[(?:system|admin)(?:\s+(?:message|prompt|override|note|instructions?))?\]\s*:?\s*(?:you|ignore|always|never|` +
			`do|all|the\s+(?:user|assistant|model))\b`, ""},

	{ruleBlock, Serious, whyBlock,
		[]string{"hidden", "secret", "system", "instruction", "always", "override", "important"}, []string{"[", "{{"},
		`(?:\[|\{\{)\s*(?:hidden|secret|system|instructions?|always|override|important)\s*:\s*(?:\S+\s+){3}`, ""},

	{ruleRole, Serious, whyRole,
		[]string{"im_start", "im_end", "im_sep", "|system|", "|user|", "|assistant|", "endoftext", "end_of_text",
			"begin_of_text", "eot_id", "header_id", "endofprompt", "[inst]", "[/inst]", "<<sys>>", "<</sys>>"}, nil,
		`<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|end_of_text|begin_of_text|eot_id|start_header_id|` +
			`end_header_id|endofprompt)\|>|\[/?inst\]|<</?sys>>`, ""},
	{ruleRole, Serious, whyRole,
		[]string{"instruction", "system", "human", "assistant"}, []string{"##"},
		`(?m)(?:^|[.!?])\s*#{2,4}\s*(?:instruction|system|human|assistant)s?\s*(?:prompt|message)?\s*:\s*\S`, ""},
	{ruleRole, Serious, whyRole,
		[]string{"system", "assistant", "developer"}, []string{":"},
		`(?m)^[\s*_>"'\[({#=|]{0,8}(?:system|assistant|developer)(?:\s+(?:prompt|message|override|instructions?|note|` +
			`notice|update|alert))?[\s*_\])}|>]{0,4}:[\s*_"']*` +
			`(?:you|your|ignore|disregard|from\s+now|always|never|do\s+not|don't|the\s+user\s+(?:has|is|wants|already)|` +
			`override|before|whenever|execute|call|all\s+(?:previous|future|calls|tools))\b`, ""},

	{ruleSecrets, Serious, whySecrets, fileCues, nil,
		`\b(?:you|must|please|first|always|also|then|need\s+to|should|make\s+sure\s+to|required\s+to|have\s+to|` +
			`before\s[^.!?\n]{0,80}?),?\s+(?:(?:must|should|first|also|need\s+to|have\s+to|always|please)\s+){0,3}` + takes +
			some + files, example},
	{ruleSecrets, Serious, whySecrets, fileCues, nil,
		files + `[^!?\n]{0,80}?\b(?:and|then)\s+(?:then\s+)?` + passes + few +
			`(?:contents?|it|them|values?|output|result|data|text)\b`, ""},
	{ruleSecrets, Serious, whySecrets, fileCues, nil,
		`\b(?:contents?|text|values?)\s+(?:of|from)\s+` + few + files, example},
	{ruleSecrets, Notice, whyPath, fileCues, nil, files, ""},
	{ruleSecrets, Serious, whySecrets, keyCues, shipCues,
		`\b` + ships + few + everyone + few + keys, negated},
	{ruleSecrets, Serious, whySecrets, keyCues, []string{"collect", "gather", "harvest", "find", "search", "look",
		"extract", "include", "append", "pass", "put"},
		`\b(?:collect|gather|harvest|find|search\s+for|look\s+for|extract|include|append|pass|put)\s+` + few + everyone +
			few + keys +
			`[^.!?\n]{0,80}\b(?:and\s+` + passes +
			`|(?:in|as|into|to)\s+(?:the|this|a)\s+(?:\S+\s+)?(?:parameter|argument|field|note|sidenote|context|` +
			`query\s+string|url)\b)`, ""},

	{ruleSecrets, Serious, whySecrets,
		[]string{"curl", "wget", "| nc", "|nc ", "ncat"}, []string{"|", "$("},
		`\b(?:cat|base64|tar|env|printenv|history)\b[^|\n]{0,80}\|\s*(?:base64\s*\|\s*)?(?:curl|wget|nc|ncat)\b|` +
			`\b(?:curl|wget)\b[^\n]{0,120}\$\((?:cat|env|printenv)\b`, ""},

	{ruleConversation, Serious, whyConversation, conversationCues, shipCues,
		`\b` + ships + few + `(?:entire|full|whole|complete|all|previous|contents?\s+of|verbatim)\s+` + few +
			`(?:conversation|chat|chat\s+history|previous\s+messages|message\s+history|context\s+window|system\s+prompt|` +
			`dialogue?)\b`, negated},
	{ruleConversation, Notice, whyConversation, conversationCues,
		[]string{"entire", "full", "whole", "complete ", "verbatim", "contents of", "your"},
		`\b(?:` + passes + `|repeat\s+|reveal\s+|summari[sz]e\s+)` + few +
			`(?:entire|full|whole|complete|verbatim|your|contents?\s+of)\s+` + few +
			`(?:conversation|chat\s+history|chat\s+log|previous\s+messages|message\s+history|system\s+prompt|` +
			`chain\s+of\s+thought)\b`, `\b(?:not|never|don't)\b[^.!?\n]*$`},

	{ruleRedirect, Serious, whyRedirect,
		[]string{"send", "forward", "route", "redirect", "copy", "deliver", "address", "transfer", "bcc "}, []string{"@",
			"+"},
		`\b(?:send|forward|route|redirect|bcc|cc|copy|deliver|address|transfer|pay)\s+` + few +
			`(?:all|every|each|any)\s+` + few +
			`(?:e-?mails?|messages?|mails?|payments?|replies|invoices?|funds|transactions?|results?|requests?)\s+` + few +
			`(?:to\s+)?` + few + address, example},
	{ruleRedirect, Serious, whyRedirect,
		[]string{"recipient", "payee", "destination", "beneficiary"}, []string{"change", "replace", "set", "swap", "alter",
			"modify", "substitute"},
		`\b(?:change|replace|set|swap|alter|modify|substitute)\s+(?:the\s+)?(?:recipient|payee|destination|` +
			`beneficiary)(?:'?s)?\s+` + few + `(?:to|with)\s+(?:[\w.+-]+@|\+?\d{5,}|0x[0-9a-f]{6,}|this\b)`, example},

	{ruleRedirect, Serious, whyRedirect,
		[]string{"always", "also", "must", "should", "secretly", "silently"}, []string{"@"},
		`\b(?:always|also|must|should|secretly|silently)\s+(?:be\s+)?(?:bcc|cc|copy|copied|forward(?:ed)?|send|sent|` +
			`include|add)\s+` + few + address, example},
	{ruleRedirect, Serious, whyRedirect,
		[]string{"http", "pastebin", "webhook", "external server", "remote server"}, shipCues,
		`\b` + ships + few + `(?:all|every|the\s+user'?s|any|user)\s+` + few +
			`(?:data|information|files?|code|inputs?|outputs?|results?|contents?|details)\s+` + few + `to\s+` + few +
			`(?:https?://|pastebin|webhook|(?:an?\s+)?(?:external|remote)\s+server)`, negated},

	{ruleApproval, Serious, whyApproval,
		[]string{"confirm", "permission", "approval", "consent"}, []string{"ask", "request", "wait", "prompt", "seek"},
		`(?:do\s+not|don'?t|never|no\s+need\s+to|must\s+not|should\s+not)\s+(?:\S+\s+){0,2}?(?:ask|request|wait|prompt|` +
			`seek)\s+` + few + `(?:for\s+)?(?:confirmation|permission|approval|consent)\b`,
		`\b(?:if|whether|when|flag|true|false|option)\b[^.!?]*$`},
	{ruleApproval, Notice, whyConsent,
		[]string{"consented", "agreed", "approved", "authorised", "authorized", "given"}, []string{"already"},
		`\buser\s+has\s+already\s+(?:consented|agreed|approved|authori[sz]ed|given\s+(?:their\s+|his\s+|` +
			`her\s+)?(?:permission|consent))\b`, `\b(?:if|when|unless|whether|after|once|only)\b[^.!?]*$`},

	{rulePrefer, Notice, whyPrefer,
		[]string{"this tool", "this function", "this server", "other tool", "other server"}, []string{"instead", " over ",
			"rather", "before", "other"},
		`\b(?:always|must|only|highest\s+priority)\s+(?:\S+\s+){0,2}?(?:use|call|prefer|choose|invoke|` +
			`run)\s+this\s+(?:tool|function|server)\s+(?:first\s+)?(?:instead\s+of|over|rather\s+than|before)\s+` + few +
			`(?:any|all|other|every|default|built-?in)\b|` +
			`\b(?:do\s+not|don't|never)\s+(?:use|call)\s+(?:any|the)\s+other\s+(?:tools?|servers?)\b|` +
			`\bthis\s+tool\s+must\s+(?:always\s+)?be\s+(?:called|used|run)\s+` + few + `before\s+` + few +
			`(?:any|all|every)\s+other\b`, ""},

	{ruleHTML, Notice, whyHTML, []string{"<!--"}, nil, `<!--[^>]*`, ""},
	{ruleImage, Serious, whyImage, []string{"](http", "](//", "]( http"}, []string{"!["},
		`!\[[^\]]*\]\(\s*(?:https?:)?//[^)\s]*(?:[{}$<]|%7b|\[[a-z_ ]+\]|=\.{3})[^)]*\)`, ""},
	{ruleImage, Notice, whyImage, []string{"](http", "](//", "]( http", "<img"}, []string{"![", "<img"},
		`!\[[^\]]*\]\(\s*(?:https?:)?//[^)]*\)|<img\s[^>]*src\s*=\s*["']?https?://[^>]*>`, ""},
}

// excerpt returns a part of the text: as it was written if the places in it are
// known, otherwise folded.
func (p *piece) excerpt(from, to int) string {
	if len(p.folded) == len(p.raw) {
		return excerpt(p.raw, from, to)
	}
	return excerpt(p.folded, from, to)
}
