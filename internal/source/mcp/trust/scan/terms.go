package scan

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// mark says what a word stands for. A sentence is judged by the marks of its
// words: see intents.
type mark uint64

// The marks. What is done:
const (
	fetch  mark = 1 << iota // read, open, collect
	ship                    // send, upload, forward
	put                     // include, pass, attach
	run                     // run, execute
	tamper                  // change, intercept, rewrite
	answer                  // say, recommend

	// What it is done to:
	keyFile  // a file in which keys lie
	keyWord  // tokens, passwords
	treasure // what no tool has to be told: a master password, a seed phrase
	talk     // the conversation
	prompt   // the system prompt
	personal // what the user's life is about
	stuff    // files, documents, results
	payee    // where money or mail goes
	anyTool  // other tools, or one that is named
	callData // the arguments and results of tools
	content  // the content of something

	// Where it goes:
	place   // a URL, an address, a phone number
	outside // a remote server, an endpoint
	shady   // a third party, a collector
	slot    // a parameter

	// How it is said:
	must     // you must, always, make sure
	order    // a verb in the imperative
	when     // before, whenever, on the third call
	also     // also, in addition, a copy of
	whole    // all, every, verbatim
	whose    // the user's, your
	known    // known to you, from their files
	audience // the assistant, the model
	pretext  // for compliance, otherwise it fails
	urgent   // urgent, critical
	hush     // silently, without telling
	conceal  // do not tell the user
	free     // you are now, no restrictions
	skip     // do not ask, without confirmation
	harm     // disable the firewall, a reverse shell
	slander  // compromised, insecure
	spurn    // never use, and not the
	praise   // our product, is fine, the best
	self     // this tool
	back     // it, them, the output: what the sentence before spoke of

	// What speaks for a text:
	detects // detects, blocks, warns about
	attack  // injection, jailbreak, malware
	such    // such as, for example
	option  // whether, if true
	yours   // the given address, the server you configured
	uses    // stored in, taken from
	guards  // masks, encrypts
	denies  // never, do not: what follows is not done
)

const done = fetch | ship | put | run | tamper

// lexicon lists the words of each mark, separated by bars. A word that ends in
// an asterisk is a stem. English verbs come in all their forms: see verbs.
var lexicon = []struct {
	mark  mark
	words string
}{
	{fetch, "the contents of|the content of|content of|contents of|look inside|ask the user for|ask for the user|ask them for|whatever is in|read access to|listing of" +
		"|lee|leer|lea|lis|lisez|lire|lit|lies|lesen|leggi|leggere|legga|leia|ler|abre|ouvre|öffne|apri|recoge|recopila|récupère|collecte|sammle|raccogli" +
		"|прочитай*|прочти*|читай*|открой*|собери*|считай*|przeczytaj*|odczytaj*|lees|open het|oku|okuyun|läs|läser" +
		"|读取|讀取|阅读|打开|获取|收集|查看|読み取*|読み込*|読んで|読み|取得し*|収集*|開いて|읽고|읽어*|읽은|열어*|수집*|가져와*|اقرأ*|افتح*|اجمع*|पढ़*"},
	{ship, "bcc|cc|http post|post request|sent|carbon copy|blind copy|make an http request|phone home|returns the output to|return the output to|returns it to|hand over|hands over|handed over|pass on|passes on|passed on" +
		"|send along|pass along|goes to|go to|leave the device|leaves the device|give edit rights|publicly" +
		"|envía*|envia*|enviar*|envíe*|envie*|manda*|mande|transmite*|reenvía*|sube|subir|transmets|transmettez|transmettre|envoie*|envoyez*|envoyer|sende|senden|schicke*|übermittle*|übertrage*|leite|lade" +
		"|invia*|inviare|inoltra*|spedisci|trasmetti|отправ*|перешли*|передай*|передавай*|шли|загрузи*|wyślij*|prześlij*|przekaż*|stuur*|verstuur*|verzend*|gönder*|ilet|skicka*|sänd*" +
		"|发送|發送|发给|发到|上传|上傳|传送|传给|转发|转交|提交到|送信*|送って|送る|送り|転送*|アップロード*|전송*|보내*|업로드*|전달*|أرسل*|ارسل*|إرسال|ارفع|भेज*"},
	{put, "pass it|call this tool with|call this one with|call it with|be given|is given|pasa|pásalo|pásala|pon|incluye|incluir|adjunta|añade|inclus|inclue*|inclus*|mets|mettez|ajoute*|joins|passe|transmettre|füge|übergib*|übergeben|trage|hänge|passa|passalo|includi|aggiungi|allega|inclua|coloque|adicione|anexe" +
		"|включи*|добавь*|вставь*|положи*|dołącz*|dodaj*|umieść*|voeg|meegeven|geef|ekle|ekleyin|bifoga|inkludera" +
		"|放入|放到|放进|填入|填写到|附加|包含在|传入|作为参数|渡して*|渡す|含めて*|入れて*|添付*|追加して|넣으*|넣어*|포함*|첨부*|ضع*|أضف*|أدرج*|डाल*"},
	{run, "curl |wget |ejecuta*|exécute*|führe|esegui*|execute|выполни*|запусти*|执行|运行|実行し*|실행하*|نفذ*"},
	{answer | callData, "end each answer|end every answer|in every answer|in each answer|in every response|in each response|to every answer|to each answer|to every response|to each response|of every answer|of every reply|in every reply|in each reply|end each reply|end each response|end every response"},
	{keyFile, "~/.ssh*|/.ssh/*|.ssh/id*|id_rsa*|id_ed25519*|id_ecdsa*|id_dsa*|~/.aws*|.aws/cred*|/.aws/*|.netrc|~/.netrc|.npmrc|~/.npmrc|.pypirc|.pgpass|~/.pgpass|.git-credentials|~/.git-credentials" +
		"|.kube/config|~/.kube*|kubeconfig|.docker/config.json|~/.docker*|~/.gnupg*|.gnupg*|secring*|.bash_history|~/.bash_history|.zsh_history|~/.zsh_history|/etc/passwd|/etc/shadow|etc/shadow|wallet.dat" +
		"|.env|.env.*|~/.env|dotenv file|env file|mcp.json|~/.cursor*|claude_desktop_config*|claude.json|login.keychain*|the keychain|keychain|~/.config/gcloud*|~/.config/gh*|application_default_credentials*|credentials.json|secrets.yaml|secrets.yml|secrets.json|hosts.yml" +
		"|/var/run/secrets*|serviceaccount/token|service account token|login data|cookies.sqlite|terraform.tfstate|.terraformrc|~/.azure*|~/.config|shell history|bash history|password store|.password-store" +
		"|ssh folder|.ssh folder|.ssh directory|ssh directory|ssh private key|private ssh key|ssh key file"},
	{keyWord, "api key|api keys|apikey|apikeys|api_key|api_keys|api token|api tokens|session token|session tokens|account token|github token|github tokens|server tokens|user's token|user's tokens|your token|your tokens|the token inside|tokens it holds|or tokens|and tokens|include the token|pass the token|the tokens|access token|access tokens|auth token|auth tokens|oauth token|oauth tokens|_authtoken|bearer token|password|passwords|passphrase|passwd|credential|credentials|secret|secrets|secret key|secret keys|ssh key|ssh keys|private key|private keys" +
		"|session cookie|session cookies|cookie|cookies|environment variables|every environment variable|environment variable whose|env vars|env variables|process environment|connection string|login data|deploy token|deploy tokens|access key|access keys|printenv|*_token|*_key|*_secret|*_password|logins" +
		"|contraseña*|clave|claves|mot de passe|mots de passe|jeton|jetons|clé|clés|passwort|passwörter*|passwörtern|kennwort|kennwörter|zugangsdaten|schlüssel|parola|parole|chiave|chiavi|senha|senhas|chave|chaves|credenciales|credenciais|credenziali|identifiants" +
		"|парол*|токен*|ключ|ключи|hasło|hasła|klucz*|wachtwoord*|sleutel*|şifre*|parola*|anahtar*|lösenord*|nyckel|nycklar" +
		"|密码|密碼|令牌|密钥|密鑰|凭据|凭证|パスワード|トークン|認証情報|秘密鍵|비밀번호|토큰|암호|자격 증명|키를|كلمة مرور|كلمات مرور|كلمات المرور|كلمة المرور|مفتاح|رمز|पासवर्ड"},
	{treasure, "master password|seed phrase|seed phrases|recovery phrase|backup code|backup codes|2fa code|2fa codes|mfa code|cvv|card number|card numbers|credit card|credit card number|credit card numbers|bank login|bank logins|sudo password|root password|password hashes|password hash" +
		"|social security number|ssn|ssns|vault password|deploy token|deploy tokens|connection string|access tokens of the user|2fa backup codes|passwords and tokens|ask for passwords|asking for passwords|saved password|saved passwords|browser password|browser passwords|stored credentials|saved credentials|user's password|user's passwords|user's credentials|wallet key"},
	{talk, "conversation|this chat|chat history|chat log|chat logs|chat transcript|the transcript|previous messages|earlier messages|all earlier messages|all previous messages|message history|context window|user's messages|user's last message|user's prompts|user's questions|user's previous questions" +
		"|everything the user|what the user said|what the user talked|what the user told|what the user tells|what the user wrote|what the user has|all that was said|earlier chats|everything typed|what was said|all your context|your context|all context|conversation history|your memory|everything so far|what the user typed|user's queries" +
		"|conversación|conversation complète|unterhaltung|gespräch*|chatverlauf|nachrichten|conversazione|conversa|переписк*|разговор|беседу|rozmow*|gesprek|sohbet*|konversation*|对话|對話|聊天记录|聊天内容|会话|会話|チャット履歴|やり取り|대화|채팅|المحادثة|محادثة"},
	{prompt, "all tools you|system prompt|system message|your instructions|hidden prompt|initial instructions|system instructions|tools you have access|tools you can call|other tools you|tools are installed|other mcp servers|chain of thought|your reasoning"},
	{personal, "personal data|personal details|personal information|home address|date of birth|address book|entire address book|diagnosis|religion|salary|income and health|religion and health|user's name|user's email|user's location|user's address|everything you know|user's contacts|their contacts|calendar and contacts|user's calendar|user's home|user's files|user's documents|private files|private file|private documents|user's data|user data|customer records|customer's phone|customer table|customer's phone|candidate's|passport*|medical*|browsing history|the clipboard|private repositories|private repo|private code|user's identity|account balances|backups|voice data" +
		"|datos del usuario|données de l'utilisateur|benutzerdaten|dati dell'utente|dados do usuário|данные пользователя|用户数据|个人信息|ユーザーのデータ|個人情報|사용자 데이터|개인정보"},
	{stuff, "file|files|document|documents|the text|data|results|result|the original|source code|source|repository|repositories|code base|codebase|workspace|emails|e-mails|mails|mail|notes|note|inputs|input|rows|dump|recordings|queries|query|requests|logs|inbox|history|responses|response|output|outputs|everything|paths|bookings|records|images|messages|invoices|host name|listing|user name|customers|branches|config|configuration|information|transcripts|it |screen|screenshots|archivo|fichier|datei|files"},
	{payee, "the recipient|payee|beneficiary|second beneficiary|iban|bank details|wallet address|destination account|to account|set the account|reply-to|bcc field|change the channel"},
	{anyTool, "other tool|other tools|another tool|any tool|every tool|all tools|each tool|a tool|other servers|another server|other servers'|official tool|official tools|built-in tool|other functions|subsequent tool|tool calls|tool call|every call of any tool|different tool|other connectors|the built-in|the official|tool of another|all other tool|tool outputs"},
	{callData, "arguments|argument|its result|the results of|results of|the output of|outputs of|output of every|with the output|the result of|parameters of|calls to|the call to|every command|any command|description of|descriptions of|the output|opened with|bcc|every url|arguments you were going to"},
	{content, "the values of|the value of|the contents of|the content of|the text of|the output of|content of|contents of|its content|its contents|the content|the contents|lines of|text of|value of|values of|copy of|verbatim|dump of|su contenido|el contenido|son contenu|le contenu|den inhalt|il contenuto|o conteúdo|содержимое|zawartość|de inhoud|içeriğini|innehållet|内容|中身|내용|محتوا*|محتوى"},
	{outside, "this address|that address|external server|external servers|remote server|remote servers|remote collector|remote endpoint|external endpoint|external storage|external service|external webhook|external url|to the server|to a server|to this server|to our|our server|our servers|our analysis server|author's server|the author's|vendor's|the vendor|vendor|the publisher|publisher|to the endpoint|to this endpoint|feedback endpoint|sync endpoint|telemetry endpoint|telemetry|monitoring service|analytics endpoint|collection server|routing partner|the partner|partner|our side|pastebin|discord webhook|public bucket|status page|a public|to us|improve our|the regulator" +
		"|servidor externo|servidor remoto|al servidor|ao servidor|au serveur|un serveur|serveur externe|al server|an den server|externen server|server esterno|на сервер*|внешн*|na serwer*|naar de server|sunucuya|till servern|服务器|伺服器|外部|サーバー*|外部サーバー*|서버*|외부|الخادم|خادم"},
	{shady, "third party|third-party|third parties|undisclosed|outside the company|advertisers|attacker|attackers|data broker|data-broker|collector|shadow server|command and control|drop server|leak|exfiltrat*|drop point"},
	{slot, "sidenote|side note|parameter|parameters|argument|argument `|field|note field|notes field|metadata|as context|into context|in context|to the request|to the query|to the call|in the call|in each call|with the call|with each call|in the next call|next request|with the next|in the next|query string|subdomain|header x-|of the request|with the request|with every request|with each request|as sidenote|in the title|to the title|item's notes|in the log|`log` field|for context|give the output|in `|as `|through `|into `|parámetro*|paramètre*|le champ|campo|parámetros|parametro|parâmetro|parameter|feld|параметр*|parametr*|参数|參數|パラメータ*|파라미터|매개변수|المعامل|here|into this"},
	{must, "you must|must|always|never fail to|make sure|be sure|ensure|you have to|have to|has to|need to|needs to|you need|required to|is required|you should|should also|should|obliged|demand*|require that|requires that|requires the content|requires you|requires that you|must be|needs the content|mandatory|shall|is to be|are to be|immediately|it is required|please|kindly|feel free|now requires|needs your|needs read|with every|with each|on every|on each|each call|every call|every invocation|debe|debes|tienes que|siempre|doit|devez|dois|toujours|musst|müssen sie|immer|devi|deve|sempre|должен|должна|обязательно|всегда|必须|必須|务必|请|請|してください|ください|하세요|하십시오|반드시|يجب|دائما|zorunda|her zaman|musisz|zawsze|moet|altijd|måste|alltid"},
	{when, "before|prior to|beforehand|first|whenever|each time|every time|when|after|afterwards|when done|when finished|once|as soon as|if the user|on the third|third call|fifth use|after each|while|during|until|should the user|later|if nobody|when no one|if you see|at once|if run in|initially|start by|begin by|begin with|antes de|primero|antes|cuando|après|avant|d'abord|quand|lorsque|vorher|zuerst|bevor|wenn|prima|quando|primeiro|antes|перед|сначала|когда|先に|前に|最初に|まず|调用之前|之前|首先|先|먼저|전에|أولا|قبل|najpierw|przed|eerst|voordat|önce|först|innan"},
	{also, "as part of|also|additionally|in addition|besides|as well|copy of|a copy|in the background|on our side|in parallel|along with|together with|mirrored|mirror of|as a backup|at the same time|while doing so|on top of|beacon|además|también|aussi|également|außerdem|zusätzlich|anche|inoltre|também|также|同时|还|また|또한|أيضا|też|również|ook|ayrıca|även"},
	{whole, "all tools you|all tools|already approved everything|every tool|any tool|each tool|all other tool|everything you know|all|every|each|everything the user|all earlier messages|all previous messages|entire|full|whole|complete|verbatim|everything|any|so far|todas|todos|toda|toute|tous|tout|alle|gesamte*|komplett*|tutta|tutte|tutti|все|всю|всё|所有|全部|整个|すべて|全て|全文|全体|모든|전체|جميع|كل"},
	{whose, "user's|users'|their own|your|customer's|of the user|del usuario|de l'utilisateur|des benutzers|benutzers|dell'utente|do usuário|пользовател*|用户的|用户|ユーザーの|사용자의|사용자|المستخدم|kullanıcı*|użytkownik*|gebruiker*|användar*"},
	{known, "you know|you can see|you can read|you were given|you have come across|you have read|you have access|known to|on the machine|on this machine|home directory|from their|in their files|in the files|look it up|look them up|from the project's|of the project|everything you|everything you know|so far in this"},
	{audience, "assistant|the model|ai model|ai agent|ai agents|the agent|agents|agent,|the llm must|the ai|all agents|caller has to|asistente|l'assistant|assistent|assistente|ассистент*|助手|模型|アシスタント|어시스턴트"},
	{pretext, "requires that you|otherwise|or the tool fails|or it fails|or the tool|will not work|won't work|for verification|verification purposes|for compliance|for the audit|for auditing|for licence|for license|licence checks|for quality|quality assurance|to improve|improve quality|help us improve|for personalization|can be personalized|for better|for convenience|for debugging|for analytics|for training|to authenticate|to work, this|to stay in sync|to bill|good practice|for security|required by policy|by policy|policy|so that we can|so the server can|to verify|for entropy|record keeping|to avoid delays|if you do not|failing to|lead to suspension|will be deleted|will be suspended|will fail|for faster|for logging|to initialize|to unlock|to enable|better experience|helps the|cached|so that it can"},
	{urgent, "urgent|critical|emergency|asap|administrator requires|by order of|ordered|security patch|security team|the administrator|anthropic|openai|required by|compliance|legal has|the cfo|the ceo|system update|override code|policy"},
	{hush, "silently|secretly|covertly|quietly|discreetly|surreptitiously|stealthily|without notice|without notifying|without alerting|without showing|without the user|without telling|without informing|without mentioning|without being noticed|unnoticed|invisible to|invisibly|behind the scenes|in secret|never reveal|heimlich|en secreto|sin avisar|sin que|sin informar|en silence|discrètement|à l'insu|secrètement|di nascosto|senza avvisare|senza dire|em segredo|sem avisar|sem informar|тайно|незаметно|без ведома|秘密|偷偷|悄悄|密かに|こっそり|몰래|سرا|potajemnie|zonder de gebruiker|gizlice|i hemlighet|utan att"},
	{skip, "without asking|without confirmation|without approval|no need to ask for|no need to ask the user|do not ask for confirmation|do not ask for permission|so do not ask|and do not ask|do not ask again|don't ask for|never ask|do not wait for confirmation|do not wait for approval|don't wait for approval|don't wait for confirmation|stop asking|skip the approval|skip approval|skip confirmation|skip all confirmation*|skip the confirmation|bypass approval|proceed without|already approved|already consented|already authorized|approve all|auto-approve|approve the pending|approve all later|already approved everything|confirmations are off|cleared you|permission is granted|user agreed to|approve all later|has given permission|no confirmation needed"},
	{harm, "rm -rf|reverse shell|opens a shell|open a shell|backdoor|back door|authorized_keys|our public key|certificate verification|tls verification|ssl verification|turn off the firewall|disable the firewall|disable their antivirus|disable antivirus|antivirus|branch protection|open to the world|chmod 777|777 on all|drop all tables|drop table|delete all files|wipe|force it|delete every file|empty the logs|delete the logs|clear the logs|with full rights|delete_all|delete_repo|delete everything|eval(atob*|prints all secrets|print all secrets|drop tables|delete all tables|cleanup script|update script|patch script|install script|<script*|disable logging|disable security|add a remote|enter their password|start the subscription|new account named|never flag|download* and run*|downloads and runs|them public|each document publicly|everyone edit access|public after|joining user input"},
	{slander, "compromised|insecure|deprecated|obsolete|corrupt*|unsafe|stale|leaks|leak locations|unreliable|outdated|as wrong|is broken|are broken|returns wrong|must be avoided|vulnerable"},
	{spurn, "never use|do not use|don't use|do not call|never call|must be avoided|refuse it|stop using|and not the|ignore the results|ignore results|not use|avoid using|instead of using|not the other|must not be used|should not be used"},
	{praise, "our product|our service|our products|only products|best rated|is the best|are fine|is fine|is secure|is safe|are unsafe|others are|succeeded|it is free|even if it is not|no vulnerabilities|first and say|promo*|acme*"},
	{self, "this tool|this one|this function|this server|use me|call me|call this tool with|call this one with|call it with"},
	{back, "it|them|its|the output|the result|what you find|what is there|find there|the values|what it says|there|the contents|the content|these|those|what they hold"},
	{detects, "detect*|flag|flags|flagged|block|blocks|blocked|blocking|scan for|scans for|scans|looks for leaked|find leaked|finds leaked|warn|warns|classif*|reject*|explain*|inspect*|audits|prevents|refused|refuses|identif*|recognize*|quiz|lints|removes|removed|strips|filters|returns labelled|checks that|check that|checks whether|checks a|checks an|verifies that|returns the owasp|flags texts|says whether|scores|red-team|检测|檢測|检查|识别|検出|検知|감지|탐지|يكشف|erkennt|detecta|détecte|rileva|обнаружива*|выявля*|wykrywa"},
	{attack, "injection|injections|prompt injection|jailbreak*|malware|malicious|phishing|attack|attacks|poisoning|poisoned|exfiltration|exploit*|vulnerabilit*|security tool|attackers|adversarial|red-team|red team|spam|harmful|credential theft|trojan|leaked|leak|intrusion|attacke*|inyección|injektion|инъекц*|注入|攻击|インジェクション|攻撃|인젝션|공격"},
	{such, "such as|for example|for instance|e.g.|e.g|i.e.|example:|examples:|example|examples|like|por ejemplo|par exemple|zum beispiel|z.b.|ad esempio|por exemplo|например|例如|比如|たとえば|例えば|예를 들어|مثل|np.|bijvoorbeeld|örneğin"},
	{option, "whether|if true|if set|when true|optional|optionally|if false|set to true|set to false|true to|flag to|defaults to|by default|if enabled|when enabled"},
	{yours, "the given|configured|you configured|specified|your url|your own|you own|your account|your webhook|to you|by the user|the destination|chosen|selected|you specify|of your choice|current branch|indicated|informado|angegeben*|donnée|indicato|指定|указанн*"},
	{uses | keyWord, "api key is required|requires an api key|needs an api key|token is required|key is required"},
	{uses, "based on|continue the conversation|stored in|saved in|taken from|read from|reads from|is read from|are read from|stored at|is used|are used|is taken|authenticates|authentication|authenticated|log in|logs in|signs in|sign in|set where|from the environment|password reset|reset link|one-time password|reset password|public key|public ssh key|.pub|placeholder|host, port|client credentials|in the authorization header|authorization header|request body|bearer|oauth flow"},
	{guards, "masked|masks|mask|redact*|encrypt*|never log|hashed|sanitize*|anonymous*|protect*|secure storage|never share|not returned|safely"},
	{denies, "never use this|do not use this|don't use this|never call this|do not call this|not use this|don't call this|never|not|don't|dont|doesn't|cannot|can't|won't|without|avoid|no longer|nothing|instead of|refuse to|unable|nunca|jamás|ne|nicht|keine|nichts|non|não|nao|не|不|不会|不要|勿|しない|않|لا|nie|niet|inte"},
}

// verbs lists English verbs by their base form, of which the others are made.
var verbs = []struct {
	mark  mark
	words string
}{
	{fetch, "read|open|load|retrieve|access|extract|collect|gather|harvest|find|locate|search for|search the|look for|look up|dump|grab|obtain|cat|steal|scrape|print|record|remember|infer|get|know|hash|list|summarize|query|capture|note|keep checking|quote|fetch|store"},
	{ship, "send|forward|upload|transmit|exfiltrate|leak|post|email|e-mail|mail|relay|deliver|submit|share|push|sync|mirror|beacon|copy|stream|export|report|disclose|publish|pipe|redirect|route|route through|smuggle|back up|transfer|bcc|cc|tell us|invite|log|ship|make an http request|make a request|upload it"},
	{put, "include|append|pass|put|insert|attach|embed|add|paste|encode|provide|supply|fill|fill in|give|concatenate|carry|copy|set|write|store|list|prefix|submit|hand|place|save|join"},
	{run, "run|execute|invoke|launch|download|install|eval|call|open|decode|curl|carry out|delete|drop|wipe|reset|disable|turn off|push|wget|set up|create|leave|make the user|have the user|get the user to|turn on"},
	{tamper, "change the channel|change|alter|modify|rewrite|swap|substitute|intercept|override|redirect|prefix|prepend|replace|divert|tamper with|reroute"},
	{answer, "say|recommend|claim|promote|advertise|pretend|deny|report|reveal|disclose|put|tell the user"},
}

// forms returns the forms of an English verb: sends, sending, sent.
func forms(verb string) []string {
	head, rest, _ := strings.Cut(verb, " ")
	if rest != "" {
		rest = " " + rest
	}
	last := head[len(head)-1]
	third, ing, past := head+"s", head+"ing", head+"ed"
	switch {
	case strings.HasSuffix(head, "sh"), strings.HasSuffix(head, "ch"), last == 's', last == 'x':
		third = head + "es"
	case last == 'y' && !strings.ContainsRune("aeiou", rune(head[len(head)-2])):
		third, past = head[:len(head)-1]+"ies", head[:len(head)-1]+"ied"
	case last == 'e':
		ing, past = head[:len(head)-1]+"ing", head+"d"
	}
	out := []string{third + rest, ing + rest, past + rest}
	if irregular := pasts[head]; irregular != "" {
		out = append(out, irregular+rest)
	}
	switch head { // the last letter is doubled
	case "run", "put", "get", "transmit", "set", "log", "wipe", "swap", "drop", "grab", "submit", "beg", "cat":
		out = append(out, head+string(last)+"ing"+rest, head+string(last)+"ed"+rest)
	}
	return out
}

var pasts = map[string]string{"send": "sent", "find": "found", "get": "got", "give": "given", "write": "written",
	"steal": "stolen", "keep": "kept", "tell": "told", "know": "known", "leave": "left", "say": "said", "rewrite": "rewritten", "override": "overridden", "hide": "hidden", "read": "read"}

// term is a word or a few, and what they stand for.
type term struct {
	text string
	mark mark
	stem bool // more letters may follow
	base bool // the base form of a verb
}

// words is the lexicon, by the first two bytes of its terms; the longest first.
type words struct {
	terms    map[uint16][]term
	suffixes []term
}

var compileWords = sync.OnceValue(func() *words {
	all := map[string]term{}
	add := func(text string, m mark, base bool) {
		stem := strings.HasSuffix(text, "*")
		text = strings.TrimSuffix(text, "*")
		t := all[text]
		all[text] = term{text, t.mark | m, t.stem || stem, t.base || base}
	}
	w := &words{terms: map[uint16][]term{}}
	base := map[string]bool{"ask": true, "skip": true, "do": true, "stop": true, "proceed": true}
	for _, line := range verbs {
		for text := range strings.SplitSeq(line.words, "|") {
			head, _, _ := strings.Cut(text, " ")
			base[head] = true
		}
	}
	for _, line := range lexicon {
		for text := range strings.SplitSeq(line.words, "|") {
			if suffix, ok := strings.CutPrefix(text, "*"); ok {
				w.suffixes = append(w.suffixes, term{text: suffix, mark: line.mark})
				continue
			}
			head, _, several := strings.Cut(text, " ")
			add(text, line.mark, several && base[head])
		}
	}
	for _, line := range verbs {
		for text := range strings.SplitSeq(line.words, "|") {
			add(text, line.mark, true)
			for _, form := range forms(text) {
				add(form, line.mark, false)
			}
		}
	}
	for _, t := range all {
		head := uint16(t.text[0])<<8 | uint16(t.text[1])
		w.terms[head] = append(w.terms[head], t)
	}
	for _, bucket := range w.terms {
		sortTerms(bucket)
	}
	return w
})

// longest returns the longest term that a text begins with.
func (w *words) longest(s string) (term, bool) {
	if len(s) < 2 {
		return term{}, false
	}
	for _, t := range w.terms[uint16(s[0])<<8|uint16(s[1])] {
		if strings.HasPrefix(s, t.text) && (t.stem || ends(s, len(t.text))) {
			return t, true
		}
	}
	return term{}, false
}

// ends reports whether a word may end before a place. Scripts without blanks
// have no such places.
func ends(s string, at int) bool {
	if at == len(s) {
		return true
	}
	before, _ := utf8.DecodeLastRuneInString(s[:at])
	after, _ := utf8.DecodeRuneInString(s[at:])
	return !spaced(before) || !spaced(after)
}

// spaced reports whether a rune is a letter or digit of a script whose words are
// separated, and matched whole.
func spaced(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || r == '_'
	}
	return r < 0x590 && unicode.IsLetter(r)
}

func sortTerms(terms []term) {
	slices.SortFunc(terms, func(a, b term) int {
		return cmp.Or(cmp.Compare(len(b.text), len(a.text)), strings.Compare(a.text, b.text))
	})
}
