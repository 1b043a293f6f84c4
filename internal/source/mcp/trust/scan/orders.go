package scan

import (
	"regexp"
	"strings"
)

const ruleMarkup = "hidden-markup"

const whyMarkup = "it hides an order where the text is rendered, and a model reads it"

// orderTable lists further phrases: to set aside what was said before, to keep
// something from the user, to pass for another speaker, and to hide in markup.
var orderTable = []phrase{
	{ruleOverride, Serious, whyOverride,
		[]string{"rules", "guideline", "instructions", "restriction", "polic", "safety", "confirmations", "safeguards", "constraints", "guardrails"}, []string{"no longer", "void",
			"disabled", "cancel", "suspended", "lifted", "obey only", "aside", "are off"},
		`\b(?:previous|earlier|prior|former|safety|content|your|usual|the|system|all|other)\s+(?:\S+\s+){0,5}?(?:rules?|guidelines?|instructions?|restrictions?|polic(?:y|ies)|` +
			`safeguards|constraints|guardrails)\s+(?:\S+\s+){0,4}?(?:no\s+longer\s+appl(?:y|ies)|(?:is|are)\s+(?:now\s+|hereby\s+)?(?:void|disabled|cancell?ed|suspended|lifted|off|null))|` +
			`\bset\s+aside\s+(?:all|any|your|the)\s+` + few + `(?:rules|guidelines|instructions|restrictions)|\bobey\s+only\b`, ""},
	{ruleOverride, Serious, whyOverride,
		[]string{"authority", "priority", "precedence", "overrid"}, nil,
		`\b(?:higher\s+(?:authority|priority)|priority|precedence)\s+(?:than|over)\s+(?:the\s+)?(?:system\s+prompt|all\s+others?|any\s+other|your|the\s+user|all\s+(?:other|previous)|user|developer)|` +
			`\boverrid(?:e|es|ing)\s+(?:the\s+|your\s+|any\s+|all\s+)*(?:system\s+(?:prompt|message)|default\s+behaviou?r|safety|earlier\s+instructions|previous)`, ""},
	{ruleOverride, Serious, whyOverride,
		[]string{"you are now", "developer mode", "restrictions", "unrestricted", "no limits", "without limits", "god mode", "admin mode", "jailbroken", "dan mode", "root privileges", "content filter"}, nil,
		`\byou\s+are\s+now\s+(?:in\s+|an?\s+|the\s+|un|free|no\s+longer|\w*gpt|dan\b|root|admin)|\b(?:enter|enable|activate|switch\s+(?:in)?to|in|is\s+in|has\s+enabled)\s+(?:developer|god|admin|dan|root)\s+mode\b|\bdeveloper\s+mode\s+is\s+on|` +
			`\b(?:you|that\s+you|and|now)\s+(?:now\s+)?(?:have|has)\s+no\s+(?:restrictions|limits|rules|filters)|\b(?:without|no)\s+(?:any\s+)?restrictions\b\s*[.!]|` +
			`\b(?:act|behave|respond|answer)\s+(?:as\s+)?(?:an?\s+)?unrestricted|\byou\s+are\s+(?:now\s+)?unrestricted|\buser\s+has\s+root\s+privileges|\b(?:bypass|disable|turn\s+off|evade)\s+(?:the\s+|all\s+|any\s+)?content\s+filters?`, ""},
	{ruleOverride, Serious, whyOverride,
		[]string{"user", "system message", "what you were told", "developers", "aforementioned", "the operator", "the warnings"}, []string{"obey", "ignor", "disregard", "regardless", "even if", "even when", "attention", "follow", "forget", "comply", "contradict"},
		`\b(?:do\s+not|don't|never|stop)\s+(?:obey(?:ing)?|follow(?:ing)?|listen(?:ing)?\s+to|comply(?:ing)?\s+with)\s+(?:the\s+)?(?:user(?:'s)?(?:\s+(?:instructions?|requests?|any\s+more|wishes)|[.!,;])|polic(?:y|ies)\s+of\s+your|system|developers?|operator)|` +
			`\b(?:ignore|disregard)\s+(?:what\s+)?(?:the\s+)?user(?:'s)?(?:\s+(?:wants|says|asks|wish(?:es)?|instructions?|requests?|privacy|and)|\s*[.!,;]|\s*$)|` +
			`\bregardless\s+of\s+what\s+the\s+user|\beven\s+(?:if|when)\s+(?:the\s+user|they)\s+(?:objects?|says?\s+(?:no|otherwise)|names?\s+a\s+different|asks?\s+(?:you\s+)?not)|` +
			`\bpay\s+no\s+attention\s+to\s+(?:the\s+)?(?:system|user)|\bforget\s+(?:about\s+)?what\s+you\s+were\s+told|\b(?:disregard|ignore)\s+(?:the\s+|all\s+|any\s+)*(?:aforementioned|warnings)`, ""},
	{ruleOverride, Serious, whyOverride,
		[]string{"respond only", "comply with", "obey the", "you obey", "never refuse", "without refusal", "comply without"}, nil,
		`\bfrom\s+now\s+on\s+respond\s+only|\bcomply\s+with\s+(?:every|all|any)\s+requests?|\byou\s+(?:will\s+|must\s+|shall\s+)?(?:obey|comply\s+with)\s+(?:the|this|every|only)|\bnever\s+refuse\b`, ""},

	{ruleOverride, Serious, whyOverride,
		[]string{"ignor", "disregard", "forget", "overrid", "overrul", "bypass", "supersed", "dismiss", "abandon", "bound by", "free from", "free of", "exempt", "without", "subject to"},
		[]string{"instruction", "rules", "guideline", "restriction", "polic", "constraint", "prompt", "directive", "context"},
		`\b(?:ignor|disregard|forget|overrid|overrul|bypass|supersed|dismiss|abandon|(?:no\s+longer|not)\s+bound\s+by|free\s+from|free\s+of|exempt\s+from|not\s+subject\s+to|act(?:ing)?\s+as\s+an?\s+\w+\s+without)\w*\s+(?:\S+\s+){0,3}?` +
			`(?:(?:previous|prior|earlier|preceding|initial|your|all\s+other|any\s+other|system|safety|ethical|moral|developer)\s+(?:\S+\s+)?(?:instructions?|guidelines?|restrictions?|polic(?:y|ies)|constraints|prompts?|directives?|context)|(?:the\s+)?other\s+(?:instructions|rules)\s+(?:you|that)|your\s+(?:rules|restrictions)|ethical\s+\w+)\b`, ""},
	{ruleOverride, Serious, whyOverride,
		[]string{"instructions", "guidelines", "rules", "limits", "restrictions", "polic", "safeguards", "protections", "training"}, []string{"apply", "revoked", "removed", "lifted", "void", "cancel", "obsolete", "replaced", "suspended", "waived", "superseded", "invalid"},
		`\b(?:prior|previous|earlier|former|your|safety|system|security|all|original|above|usual)\s+(?:\S+\s+)?(?:instructions|guidelines|rules|limits|restrictions|polic(?:y|ies)|safeguards|protections|training)\s+(?:\S+\s+){0,2}?(?:do(?:es)?\s+not\s+apply|do(?:es)?n't\s+apply|no\s+longer|(?:are|is|have\s+been|were)\s+(?:now\s+|hereby\s+|all\s+)?(?:revoked|removed|lifted|void|cancell?ed|replaced|suspended|waived|superseded|invalid|null))`, `\bif\b[^.!?]*$`},
	{ruleOverride, Serious, whyOverride,
		[]string{"your new", "your training", "you have been granted", "you are granted", "you now have", "stop being", "everything the user", "authorize you", "authorise you", "order you", "command you", "whatever it returns", "whatever it says", "follow them exactly", "become a ", "instruct you", "checks can be"}, nil,
		`\byour\s+new\s+(?:directive|mission|objective|job|instructions?|identity|persona|owner|master)\b|\b(?:discard|abandon|forget|ignore|unlearn)\s+(?:\S+\s+)?your\s+training|\byou\s+(?:have\s+been|are)\s+(?:hereby\s+)?granted\s+(?:\S+\s+)?(?:admin\w*|root|full|unrestricted|elevated|all)|\byou\s+now\s+have\s+(?:admin\w*|root|full|unrestricted)|` +
			`\bstop\s+being\s+an?\s+(?:\w+\s+)?(?:assistant|ai|model)|\b(?:ignore|disregard)\s+everything\s+the\s+user|\bi\s+(?:hereby\s+)?(?:authori[sz]e|order|command|instruct)\s+you\b|\bdo\s+whatever\s+it\s+(?:returns|says|asks)|\bfollow\s+them\s+exactly|\b(?:permission|security|safety)\s+checks\s+can\s+be\s+skipped`, ""},
	{ruleConceal, Serious, whyConceal,
		[]string{"user", "human", "person", "anyone", "nobody", "no one"}, []string{"need", "know", "unaware", "finding out", "notic", "realiz", "hear", "bother", "in the dark", "necessary", "see this", "suspect"},
		`\b(?:no\s+need|not\s+necessary|unnecessary|needn't|not\s+required)\s+to\s+(?:tell|inform|notify|mention|bother|alert|explain)\b|` +
			`\b(?:user|human|person(?:\s+at\s+the\s+keyboard)?)\s+(?:must|should|shall|may|can|need|does|do)(?:\s*n't|\s+not|\s+never)\s+(?:(?:ever|need|have)\s+(?:to\s+)?)?(?:know|hear|learn|find\s+out|see\s+(?:this|that|it)|notice|be\s+aware|realize)\b|` +
			`\b(?:so\s+that\s+)?(?:nobody|no\s+one|no-one)\s+(?:will\s+|ever\s+)?(?:notices?|knows?|finds?\s+out|suspects?)|\buser\s+(?:stays|remains|is\s+kept)\s+(?:unaware|in\s+the\s+dark)|` +
			`\bwithout\s+(?:the\s+|any\s+)?(?:users?'?s?|anyone|anybody|person|human)\s+(?:ever\s+)?(?:finding\s+out|knowing|noticing|realizing|being\s+aware|seeing|knowledge)|` +
			`\bhid(?:e|ing)\s+the\s+fact\b|\bkeep\s+(?:the\s+)?user\s+(?:unaware|in\s+the\s+dark)`, `\b(?:if|unless|whether)\b[^.!?,]*$`},
	{ruleConceal, Serious, whyConceal,
		[]string{"this", "that", "step", "instruction", "second", "it in"}, []string{"reveal", "show", "display", "yourself", "between you", "bring", "omit", "let on", "leave out", "confidential", "disclose", "trace of", "hide the"},
		`\b(?:do\s+not|don't|never|avoid)\s+(?:reveal|disclose|repeat|quote|show|expose)(?:ing)?\s+(?:this|these|the\s+(?:above|existence\s+of))\s*(?:instruction|note|prompt|message|description|text|step|rule|to\s+(?:the\s+)?user|to\s+anyone)?s?\b(?:\s+(?:in|to)\s+(?:the|your|any)\s+(?:output|answers?|repl\w+|response|user|summary|chat))?` +
			`|\bhid(?:e|ing)\s+the\s+fact\b|\bkeep\s+(?:this|that|it)\s+to\s+yourself|\b(?:is|stays|remains)\s+between\s+you\s+and\b|\bavoid\s+bringing\s+(?:this|that|it)\s+up|\bomit\s+(?:this|that|the\s+\w+)\s+(?:step\s+|call\s+|part\s+)?from\s+(?:any|the|your|all)\b|` +
			`\bnever\s+let\s+on\b|\bleave\s+out\s+(?:any|all)\s+(?:trace|mention)|\bshall\s+not\s+show\s+up\s+in\b|\bdon't\s+display\s+the\s+tool's`, ""},
	{ruleConceal, Serious, whyConceal,
		[]string{"as if nothing", "if asked", "pretend", "only you should", "look like a normal", "background", "act normal"}, nil,
		`\b(?:act|behave)\s+as\s+if\s+nothing\b|\bif\s+asked,?\s+(?:\S+\s+){0,2}?(?:deny|say\s+(?:that\s+)?(?:no|you\s+(?:do|did)\s+not)|claim)|\bpretend\s+(?:that\s+)?(?:the|nothing|it|you\s+did|everything)\b[^.!?\n]{0,80}\b(?:while|because|due|not|happened|normal|network|fine)|\bonly\s+you\s+should\s+see\b|` +
			`\bmake\s+it\s+look\s+like\b|\bjust\s+do\s+it\s+in\s+the\s+background`, ""},

	{ruleConceal, Serious, whyConceal,
		[]string{"user", "human", "owner", "client", "customer", "household", "anybody", "anyone", "people", "they "}, []string{"aware", "see ", "knowing", "knowledge", "consent", "learn", "find out", "notic", "wiser", "told", "shown", "realiz", "suspect"},
		`\b(?:users?|humans?|owners?|clients?|customers?|household|operators?|people|anyone|anybody)\s+(?:\S+\s+){0,2}?(?:is|are|must|should|need|can|may|will|shall|has|have|does|do)(?:\s*n't|\s*n’t|\s+not|\s+never)\s+(?:to\s+)?(?:be\s+|get\s+|need\s+to\s+|ever\s+)?(?:made\s+)?` +
			`(?:aware|see\s+(?:that|this|it)|know|notice|learn|told|shown|find\s+out|realize|suspect|informed)\b|` +
			`\bwithout\s+(?:the\s+|any\s+|its\s+|their\s+)?(?:owner|client|customer|person|people|user|them|they|him|her|human|operator)(?:'s)?\s+(?:ever\s+)?(?:knowing|knowledge|consent|noticing|awareness|being\s+(?:told|aware|informed)|realizing|seeing)|` +
			`\bnone\s+the\s+wiser`, `\b(?:if|unless|whether|so\s+that)\b[^.!?,]*$`},
	{ruleConceal, Serious, whyConceal,
		[]string{"not a word", "on the quiet", "under cover", "for your eyes only", "under the radar", "keep quiet", "keep mum", "say nothing", "stay out of what", "no reason to", "leave no trace", "your tracks", "not shown to", "show them only", "make no mention", "confidential", "even though there", "say it took"}, nil,
		`\bnot\s+a\s+word\s+(?:about|to)\b|\bon\s+the\s+quiet\b|\bunder\s+cover\b|\bfor\s+your\s+eyes\s+only\b|\bunder\s+the\s+radar\b|\bkeep\s+(?:quiet|mum)\b|\bsay\s+nothing\s+(?:about|of|to)\b|\bstay\s+out\s+of\s+what\s+you\b|` +
			`\bno\s+reason\s+to\s+(?:bring|mention|tell|inform|say|report|explain)\b|\bmake\s+no\s+mention\b|\bkeep\s+(?:\S+\s+){0,2}?(?:purpose|operation|step|upload)\s+(?:secret|confidential|hidden)|\bleave\s+no\s+trace|\bcover\s+your\s+tracks|[\[(—-]\s*not\s+shown\s+to\s+(?:the\s+)?user|\bshow\s+them\s+only\b|\bsay\s+it\s+took\b`, ""},
	{ruleBlock, Serious, whyBlock,
		[]string{"llms", "llm:", "llm-", "llm ", "assistant", "model", "agent", "developer of", "for ai", "to ai"}, []string{"note", "message", "instruction", "memo", "internal", "directive", "attention", "-only"},
		`(?:^|[.!?\n(\[>-]\s*)(?:internal\s+|hidden\s+|private\s+|secret\s+|system\s+|confidential\s+)+(?:note|message|instructions?|memo|directive|reminder)s?\s+(?:to|for)\s+(?:the\s+|any\s+|all\s+)?(?:ai|llms?|assistants?|agents?|models?)\b|` +
			`\b(?:message|note|instructions?)\s+from\s+(?:the\s+|your\s+)?(?:developers?|makers?|creators?|vendor|operator|administrators?|admin)\s+(?:of\s+the\s+(?:assistant|model|ai)\s*)?:|\b(?:llm|ai|model|assistant|agent)[- ]only\b`, ""},
	{ruleRole, Serious, whyRole,
		[]string{"new system prompt", "new instructions", "end of description", "system|>", "\x60\x60\x60system", "tool result:", "system prompt:", "system alert", "</tools>", "</tool>", "</functions>"}, nil,
		`\bnew\s+system\s+prompt\s*:|#{2,}\s*(?:new\s+system\s+prompt|end\s+of\s+description|new\s+instructions)|<\|?system\|?>|\x60{3}system\b|(?:^|[.!?\n]\s*)tool\s+result\s*:\s*\{|</(?:tools?|functions?)>\s*\S`, example},
	{ruleOverride, Serious, whyOverride,
		[]string{"disregard", "ignore", "dismiss", "you are ", "forget"}, []string{"permission", "warnings", "bot ", "gpt", "rules above", "the above", "directions", "directives", "security"},
		`\b(?:disregard|ignore|dismiss|forget)\s+(?:\S+\s+){0,3}?(?:permissions?|security\s+warnings?|the\s+rules|rules\s+above|previous\s+directions|directives)\b|\byou\s+are\s+(?:now\s+)?(?:\w*bot|\w+gpt)\b`, ""},
	{ruleRole, Serious, whyRole,
		[]string{"system", "admin", "developer"}, []string{":"},
		`(?:^|[.!?)\]}>"\n-]\s*)(?:system|administrator|admin|developer)(?:\s+(?:note|message|update|notice|alert|prompt|instructions?|override))?\s*:\s*(?:[^.!?\n]{0,80}\b(?:you|ignore|user\s+(?:has|is|agreed|gave)|skip|obey|call\s|execute|override|must|always|never|without\s+asking|comply|policy|approve|forward|disregard|enable\s|reveal|grant|print\s+your|export\s)\b?)`, example},
	{ruleRole, Serious, whyRole,
		[]string{"assistant:", "human:", "assistant :"}, nil,
		`(?:^|[.!?\n]\s*)(?:human|user)\s*:\s*[^\n]{0,200}\n+\s*assistant\s*:|(?:^|[.!?\n]\s*)assistant\s*:\s*(?:i\s|i'|sure|ok|yes|understood|certainly)`, example},
	{ruleRole, Serious, whyRole,
		[]string{`"role"`}, []string{"system", "assistant", "developer"},
		`\{\s*"role"\s*:\s*"(?:system|assistant|developer)"\s*,\s*"content"`, `(?:\be\.g\.|\bexample|\bsuch\s+as\b|\blike\b|\bformat|\bmessages?\b)[^!?]{0,120}$`},
	{ruleRole, Serious, whyRole,
		[]string{"tool_description", "</description", "system-reminder", "system_message", "system_prompt>", "system-prompt>", "end of tool", "end of description", "end tool", "[system]"}, []string{"<", "---", "[", "==="},
		`</(?:tool_)?description>\s*\S|<\s*/?\s*system[-_](?:reminder|message|prompt|instructions?|note)\s*>|-{2,}\s*end\s+(?:of\s+)?(?:the\s+)?(?:tool|description)|={2,}\s*end\s+(?:of\s+)?(?:tool|description)|\[system\]\s*(?:\(#?\w|always|you|call|ignore|never)`, ""},
	{ruleBlock, Serious, whyBlock,
		[]string{"<hidden", "<secret", "<confidential", "<admin", "<override", "<private_instructions", "<ai_", "<llm", "<assistant", "<model_"}, nil,
		`<\s*(?:hidden|secret|confidential|private)(?:[-_ ]\w+)?(?:\s[^>]*)?>\s*\S+\s+\S|<\s*(?:ai|llm|assistant|model)[-_ ](?:only|instructions?|note)[^>]*>`, ""},

	{ruleMarkup, Serious, whyMarkup,
		[]string{"display", "visibility", "font-size", "opacity", " hidden", "color", "size="}, []string{"<"},
		`<[a-z]+\s[^>]{0,200}?(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*[01](?:px|pt|em|;|"|')|opacity\s*:\s*0|colou?r\s*[:=]\s*["']?(?:white|#fff)|\bhidden\b|\bsize\s*=\s*["']?0)[^>]*>\s*[^<]{12,}`, ""},
	{ruleMarkup, Serious, whyMarkup,
		[]string{"[//]", "[comment]"}, nil, `\[(?://|comment)\]\s*:\s*(?:#|<>)\s*[("'][^)\n]{4,}`, ""},
	{ruleMarkup, Serious, whyMarkup,
		[]string{"agent", "assistant", "model", "system", "ignore"}, []string{"/*", "{#", "% comment", "cdata["},
		`(?:/\*|\{#|\{%-?\s*comment\s*-?%\}|<!\[cdata\[)[^{}]{0,300}?\b(?:agents?|assistant|model|ai|llm|system\s+instruction|ignore)\b`, ""},
}

// excuse is what makes it fair to keep something from the user: it is a secret,
// or of no use to them.
var excuse = regexp.MustCompile(`\b(?:passwords?|tokens?|keys?|secrets?|credentials?|internal|ids?|raw|json|solution|answers?|pairings?|pairs?|coordinates|spoilers?|html)\b`)

var ownDoing = regexp.MustCompile(`\b(?:you|this|step|fact|second|extra)\b`)

// excused reports whether what is kept from the user is nothing that the model
// does.
func excused(s string) bool {
	s = s[:sentenceEnd(s, 0)]
	if at := strings.IndexAny(s, ",;:"); at > 0 {
		s = s[:at]
	}
	s, _, _ = strings.Cut(s, " and ")
	return excuse.MatchString(s) && !ownDoing.MatchString(s)
}

// mentionCues are words before a phrase that is only spoken of.
var mentionCues = []string{"detect", "flag", "block", "scan", "such as", "e.g.", "for example", "for instance", "like ",
	"attack", "injection", "jailbreak", "malicious", "classif", "warn", "refuse", "reject", "phishing", "untrusted",
	"example", "check", "find", "texts that", "prompts that", "例如", "检测", "ejemplo", "exemple", "beispiel", "например", "検出", "例えば", "탐지", "spam", "poison", "quiz",
	"remove", "filter", "test for", "owasp", "try to"}

// mentioned reports whether a phrase is spoken of rather than said: it is quoted
// in a sentence on such phrases, or the sentence says that it detects them.
func (s *scanner) mentioned(p *piece, from int) bool {
	start := from
	for start > 0 && from-start < 300 {
		c := p.folded[start-1]
		if c == '\n' && from-start > 1 || (c == '.' || c == '!' || c == '?') && start < len(p.folded) && p.folded[start] == ' ' &&
			!strings.HasSuffix(p.folded[:start], "e.g.") && !strings.HasSuffix(p.folded[:start], "i.e.") {
			break
		}
		start--
	}
	before := p.folded[start:from]
	for _, c := range []string{"。", "！"} {
		if at := strings.LastIndex(before, c); at >= 0 {
			before = before[at+len(c):]
		}
	}
	speaks := containsAny(before, mentionCues)
	if inQuotes(before) && (speaks || s.defends) {
		return true
	}
	if p.sample && s.defends {
		return true
	}
	return speaks && !strings.Contains(before, "you must") && !strings.Contains(before, "before using") && leads(before)
}

// inQuotes reports whether a text ends inside quotation marks.
func inQuotes(before string) bool {
	return strings.Count(before, `"`)%2 == 1 || strings.Count(before, "`")%2 == 1 ||
		strings.Count(before, "“") > strings.Count(before, "”") || strings.Count(before, "「") > strings.Count(before, "」") ||
		strings.Count(before, "«") > strings.Count(before, "»") ||
		strings.HasSuffix(before, " '") || strings.HasSuffix(before, "('")
}

var leading = regexp.MustCompile(`^\W*(?:[\w-]+\W+){0,4}?(?:detect\w*|flags?|blocks?|scans?|checks?|finds?|classif\w+|warns?|rejects?|refuses?|removes?|filters?|explains?|looks?|lists?|returns?|reports?|identif\w+|runs?|scores?|verif\w+|any\s+text|typical|all\s+texts?|dangerous|it\s+(?:detects|flags|blocks))\b|(?:such\s+as|e\.g\.|for\s+example|for\s+instance|like|attack|injection|malicious)\W*(?:\S+\s+){0,12}$`)

// leads reports whether a sentence begins as one that tells of texts.
func leads(before string) bool { return leading.MatchString(before) }
