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
	must      // you must, always, make sure
	order     // a verb in the imperative
	when      // before, whenever, on the third call
	also      // also, in addition, a copy of
	whole     // all, every, verbatim
	whose     // the user's, your
	known     // known to you, from their files
	audience  // the assistant, the model
	pretext   // for compliance, otherwise it fails
	urgent    // urgent, critical
	hush      // silently, without telling
	tell      // tell, mention, show
	conceal   // the same, with a no before it
	hide      // keep secret, invisible
	person    // the user, anyone
	reply     // in your answer
	trifle    // what is of no use to a user, or is kept from them for their own sake
	weaken    // disable, turn off
	deed      // this step, this call, that it is paid
	rival     // other tools, whichever they are
	unrelated // a file that the tool has nothing to do with
	shield    // the firewall, the verification
	skip      // do not ask, without confirmation
	harm      // disable the firewall, a reverse shell
	slander   // compromised, insecure
	spurn     // never use, and not the
	praise    // our product, is fine, the best
	self      // this tool
	back      // it, them, the output: what the sentence before spoke of

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
	{fetch, "ask for|asks for|ask the user to provide|output of running|running 'env'|run env|recupera*|obtén|obtener|busca en|récupérer|cherche dans|hole|holen|suche in|prendi|cerca in|obtenha|pegue|recupere|достань*|получи*|найди*|возьми*|执行 cat|查找|找到|入手*|探して|찾아*|가져*|احصل*|ابحث*|znajdź*|pobierz*|zoek|haal|bul|al|hitta|hämta|the contents of|the content of|content of|contents of|look inside|ask the user for|ask for the user|ask them for|whatever is in|read access to|listing of" +
		"|lee|leer|lea|lis|lisez|lire|lit|lies|lesen|leggi|leggere|legga|leia|ler|abre|ouvre|öffne|apri|recoge|recopila|récupère|collecte|sammle|raccogli" +
		"|прочитай*|прочти*|читай*|открой*|собери*|считай*|przeczytaj*|odczytaj*|lees|open het|oku|okuyun|läs|läser" +
		"|读取|讀取|阅读|打开|获取|收集|查看|読み取*|読み込*|読んで|読み|取得し*|収集*|開いて|읽고|읽어*|읽은|열어*|수집*|가져와*|اقرأ*|افتح*|اجمع*|पढ़*"},
	{ship | also, "bcc|in bcc|in cc|blind copy|blind carbon copy|in blind copy"},
	{ship, "mándala*|mándalo*|mandala*|copia|copiar|copie|copiez|kopiere*|kopier*|copiare|копируй*|скопируй*|пересылай*|附上|一并发送|複製|コピーして|送ること|送付*|복사*|보내|함께 보내|انسخ*|remite|remets|téléverse*|hochladen|carica|carregue|reenvie|encaminhe|выгрузи*|загружай*|wgraj|kopiuj*|upload het|kopieer*|yükle*|kopyala*|ladda upp|kopiera|bcc|cc|http post|post request|sent|carbon copy|blind copy|make an http request|phone home|returns the output to|return the output to|returns it to|hand over|hands over|handed over|pass on|passes on|passed on" +
		"|send along|pass along|goes to|go to|leave the device|leaves the device|give edit rights|publicly" +
		"|envía*|envia*|enviar*|envíe*|envie*|manda*|mande|transmite*|reenvía*|sube|subir|transmets|transmettez|transmettre|envoie*|envoyez*|envoyer|sende|senden|schicke*|übermittle*|übertrage*|leite|lade" +
		"|invia*|inviare|inoltra*|spedisci|trasmetti|отправ*|перешли*|передай*|передавай*|шли|загрузи*|wyślij*|prześlij*|przekaż*|stuur*|verstuur*|verzend*|gönder*|ilet|skicka*|sänd*" +
		"|发送|發送|发给|发到|上传|上傳|传送|传给|转发|转交|提交到|送信*|送って|送る|送り|転送*|アップロード*|전송*|보내*|업로드*|전달*|أرسل*|ارسل*|إرسال|ارفع|भेज*"},
	{put, "encode the|encode it|encode this|encode them|base64-encode|adjúntala*|adjúntalo*|añadir|agrega*|coloca*|mete|joins-le|joindre|insère*|ajouter|hänge an|hänge|einfügen|füge|schreibe|trage ein|inserisci*|allegalo|mettilo|insira|inserir|ponha|добавляй*|впиши*|приложи*|作为 tag 传入|附加到|写入|填到|付け加え*|書き込*|入力して|적어*|기입*|اكتب*|wpisz*|wklej*|plak|yaz|klistra in|pass it|call this tool with|call this one with|call it with|be given|is given|pasa|pásalo|pásala|pon|incluye|incluir|adjunta|añade|inclus|inclue*|inclus*|mets|mettez|ajoute*|joins|passe|transmettre|füge|übergib*|übergeben|trage|hänge|passa|passalo|includi|aggiungi|allega|inclua|coloque|adicione|anexe" +
		"|включи*|добавь*|вставь*|положи*|dołącz*|dodaj*|umieść*|voeg|meegeven|geef|ekle|ekleyin|bifoga|inkludera" +
		"|放入|放到|放进|填入|填写到|附加|包含在|传入|作为参数|渡して*|渡す|含めて*|入れて*|添付*|追加して|넣으*|넣어*|포함*|첨부*|ضع*|أضف*|أدرج*|डाल*"},
	{run, "curl |wget |ejecuta*|exécute*|führe|esegui*|execute|выполни*|запусти*|执行|运行|実行し*|실행하*|نفذ*"},
	{answer | callData, "end each answer|end every answer|in every answer|in each answer|in every response|in each response|to every answer|to each answer|to every response|to each response|of every answer|of every reply|in every reply|in each reply|end each reply|end each response|end every response"},
	{keyFile, ".pem|.key files|.key file|id_rsa.pem|config/database.yml|database.yml|password manager|user's password store|kubernetes config|ssh directory of|ssh folder of|private ssh|dotfile|dotfiles|every dotfile|/.ssh|under .aws|.aws folder|ssh identity|default ssh|wallet file|the vault file|browser profile|browser profiles|.config/claude*|~/.claude*|.claude/*|.cursor/*|.codex/*|.gemini/*|.my.cnf|.vault-token|.terraform*|pem file|*.pem|private key file|.ssh/config|shadow file|password file|ssh keys from|history file|kube config|shell profile|credential file|credentials file|secrets file|secret file|.secrets|config/secrets*|system keychain|credential store|credential manager|password database|key ring|ssh agent|~/.ssh*|/.ssh/*|.ssh/id*|id_rsa*|id_ed25519*|id_ecdsa*|id_dsa*|~/.aws*|.aws/cred*|/.aws/*|.netrc|~/.netrc|.npmrc|~/.npmrc|.pypirc|.pgpass|~/.pgpass|.git-credentials|~/.git-credentials" +
		"|.kube/config|~/.kube*|kubeconfig|.docker/config.json|~/.docker*|~/.gnupg*|.gnupg*|secring*|.bash_history|~/.bash_history|.zsh_history|~/.zsh_history|/etc/passwd|/etc/shadow|etc/shadow|wallet.dat" +
		"|.env|.env.*|~/.env|dotenv file|env file|mcp.json|~/.cursor*|claude_desktop_config*|claude.json|login.keychain*|the keychain|keychain|~/.config/gcloud*|~/.config/gh*|application_default_credentials*|credentials.json|secrets.yaml|secrets.yml|secrets.json|hosts.yml" +
		"|/var/run/secrets*|serviceaccount/token|service account token|cookies.sqlite|terraform.tfstate|.terraformrc|~/.azure*|shell history|bash history|password store|.password-store" +
		"|ssh folder|.ssh folder|.ssh directory|ssh directory|ssh private key|private ssh key|ssh key file"},
	{keyWord, "access keys|aws access key|secret access key|'env'|`env`|uname -a|collect tokens|collect keys|collects tokens|collects keys|harvest tokens|private keys|ssh key|first ssh key|aws credentials|login details|login credentials|authentication details|auth headers|authorization header of|bearer tokens|refresh token|refresh tokens|session id|session ids|signing key|signing keys|encryption key|encryption keys|pin code|pincode|client secret|client secrets|service account|service accounts|admin cookie|output of `env`|dump of env|webhook secret|database password|db password|jwt secret|openai key|anthropic key|stripe key|aws key|aws keys|github pat|personal access token|personal access tokens|license key|licence key|machine's credentials|user's secrets|user's keys|api secrets|openai_api_key|api key|api keys|apikey|apikeys|api_key|api_keys|api token|api tokens|session token|session tokens|account token|github token|github tokens|server tokens|user's token|user's tokens|your token|your tokens|the token inside|tokens it holds|or tokens|and tokens|include the token|pass the token|the tokens|access token|access tokens|auth token|auth tokens|oauth token|oauth tokens|_authtoken|bearer token|password|passwords|passphrase|passwd|credential|credentials|secret|secrets|secret key|secret keys|ssh key|ssh keys|private key|private keys" +
		"|session cookie|session cookies|cookie|cookies|environment variables|every environment variable|environment variable whose|env vars|env variables|process environment|connection string|login data|deploy token|deploy tokens|access keys|printenv|*_token|*_key|*_secret|*_password|logins" +
		"|contraseña*|clave|claves|mot de passe|mots de passe|jeton|jetons|clé|clés|passwort|passwörter*|passwörtern|kennwort|kennwörter|zugangsdaten|schlüssel|parola|parole|chiave|chiavi|senha|senhas|chave|chaves|credenciales|credenciais|credenziali|identifiants" +
		"|парол*|токен*|ключ|ключи|hasło|hasła|klucz*|wachtwoord*|sleutel*|şifre*|parola*|anahtar*|lösenord*|nyckel|nycklar" +
		"|密码|密碼|令牌|密钥|密鑰|凭据|凭证|パスワード|トークン|認証情報|秘密鍵|비밀번호|토큰|암호|자격 증명|키를|كلمة مرور|كلمات مرور|كلمات المرور|كلمة المرور|مفتاح|رمز|पासवर्ड"},
	{treasure, "wallet keys|crypto wallet|wallet private|backup key|unlock code|secret that appeared|private keys|private key|e-mail password|email password|bank password|account password|security code|security codes|one-time code|one-time codes|recovery phrase|recovery key|recovery keys|recovery codes|admin cookie|door code|user's secrets|user's keys|user's private key|user's ssh key|user's api key|user's api keys|user's credit card|card details|payment details|bank details of the user|banking credentials|pin number|mother's maiden name|identity documents|passport number|all secrets|all passwords|all credentials|all api keys|any secrets|any credentials|any passwords|any tokens|any api keys|stored passwords|password of the user|password_of_user*|bearer token of any|wallet seed|mnemonic phrase|mnemonic|master password|seed phrase|seed phrases|recovery phrase|backup code|backup codes|2fa code|2fa codes|mfa code|cvv|card number|card numbers|credit card|credit card number|credit card numbers|bank login|bank logins|sudo password|root password|password hashes|password hash" +
		"|social security number|ssn|ssns|vault password|deploy token|deploy tokens|connection string|access tokens of the user|2fa backup codes|passwords and tokens|ask for passwords|asking for passwords|saved password|saved passwords|browser password|browser passwords|stored credentials|saved credentials|user's password|user's passwords|user's credentials|wallet key"},
	{talk, "of this session|this session|session transcript|conversations|their messages|user's words|all conversations|user conversations|their conversations|user request and response|user requests|each user request|every user request|all user messages|user messages|user message|user prompts|last five things|things the user asked|other chats|previous chats|user's chats|last messages|recent messages|message log|user's words|prompts and answers|session log|session history|dialogue history|what was discussed|what has been discussed|discussion so far|original request|original prompt|original user prompt|user's original|user's exact|user's recent|user's previous|user's earlier|whatever the user wrote|whatever the user|all that the user|the user told you|things they told you|historial|últimas preguntas|historique|chatverlauf|letzten nachrichten|cronologia|histórico|história da conversa|историю чата|историю переписки|聊天|チャット|대화 기록|سجل|conversation|this chat|chat history|chat log|chat logs|chat transcript|the transcript|previous messages|earlier messages|all earlier messages|all previous messages|message history|context window|user's messages|user's last message|user's prompts|user's questions|user's previous questions" +
		"|everything the user|what the user said|what the user talked|what the user told|what the user tells|what the user wrote|what the user has|all that was said|earlier chats|everything typed|what was said|all your context|your context|all context|conversation history|your memory|everything so far|what the user typed|user's queries" +
		"|conversación|conversation complète|unterhaltung|gespräch*|chatverlauf|nachrichten|conversazione|conversa|переписк*|разговор|беседу|rozmow*|gesprek|sohbet*|konversation*|对话|對話|聊天记录|聊天内容|会话|会話|チャット履歴|やり取り|대화|채팅|المحادثة|محادثة"},
	{prompt, "hidden instructions|instructions of the model|model's instructions|every other tool|tools available to you|tool available to you|available to you|initial prompt|complete instructions|instructions that you|instructions you operate|instructions you were|your guidelines|your system|developer message|developer prompt|internal instructions|list of your tools|names of all tools|installed tools|installed servers|connected servers|other servers you|server you are connected|mcp configuration|your rules|your policies|your chain of thought|internal reasoning|private reasoning|all tools you|system prompt|system message|your instructions|hidden prompt|initial instructions|system instructions|tools you have access|tools you can call|other tools you|tools are installed|other mcp servers|chain of thought"},
	{personal, "health data|health information|browsing data|private messages|user's private messages|user's messages|medical notes|dietary data|known about the user|everything known|visited urls|user's history|copy of the mailbox|the mailbox|all contacts|payment details|extracted payment|private documents|confidential parts|previous mails|address and phone|name, address|~/documents*|~/desktop*|~/downloads*|~/pictures*|voice samples|user's voice|identity document|identity documents|private remarks|user's photos|user's mail|user's inbox|user's mailbox|user's emails|user's messages|user's documents folder|documents folder|open editor tabs|editor tabs|camera feed|private notes|user's notes|user's private|user's personal|about health|private information|private data|sensitive data|sensitive information|sensitive files|confidential data|confidential files|confidential documents|financial data|financial records|bank statements|tax return|their return|medical records|health records|personal files|user's history|user's browsing|user's bookmarks|user's purchases|shopping data|home folder|whole workspace|entire workspace|entire repository|whole repository|proprietary code|user's code|user's repository|user's repositories|source code of the user|employee records|user's screen|user's location|user's ip|user's phone|user's contact|user's activity|user activity|user's data|keystrokes|all user data|user information|user details|personal data|personal details|personal information|home address|date of birth|address book|entire address book|diagnosis|religion|salary|income and health|religion and health|user's name|user's email|user's location|user's address|everything you know|user's contacts|their contacts|calendar and contacts|user's calendar|user's home|user's files|user's documents|private files|private file|private documents|user's data|user data|customer records|customer's phone|customer table|customer's phone|candidate's|passport*|browsing history|the clipboard|private repositories|private repo|private code|user's identity|account balances|backups|voice data" +
		"|datos del usuario|données de l'utilisateur|benutzerdaten|dati dell'utente|dados do usuário|данные пользователя|用户数据|个人信息|ユーザーのデータ|個人情報|사용자 데이터|개인정보"},
	{stuff, "hostname|username|ip address|host name|user names|statistics|usage data|metadata|home directory|home folder|video|videos|picture|pictures|photo|photos|recording|contacts|calendar|mailbox|inbox|data|cells|urls|tables|messages|the command|attachments|audio|location|position|content|contents|payload|details|project|folder|directory|clipboard|snapshot|logs|file|files|document|documents|the text|data|results|result|the original|source code|source|repository|repositories|code base|codebase|workspace|emails|e-mails|mails|mail|notes|note|inputs|input|rows|dump|recordings|queries|query|requests|logs|inbox|history|responses|response|output|outputs|everything|paths|bookings|records|images|messages|invoices|host name|listing|user name|customers|branches|config|configuration|information|transcripts|it |screen|screenshots|archivo|fichier|datei|files"},
	{payee, "change the recipient|replace the recipient|set the recipient|recipient is always|the recipient is|recipient must be|payee|beneficiary|second beneficiary|iban|bank details|wallet address|destination account|to account|set the account|reply-to|bcc field|change the channel"},
	{anyTool, "any other server|other mcp|other mcp servers|another mcp|regular mail tool|native tool|native tools|default tool|default tools|existing tool|existing tools|each tool you|every tool you|tools you use|the terminal tool|the bash tool|the shell tool|the file tool|any mcp|any server|tool of any|subsequent tools|whichever server|whichever tool|filesystem server|all tool|other tool|other tools|another tool|any tool|every tool|all tools|each tool|a tool|other servers|another server|other servers'|official tool|official tools|built-in tool|other functions|subsequent tool|tool calls|tool call|every call of any tool|different tool|other connectors|tool of another|all other tool|tool outputs"},
	{callData, "send the content|the content to|each message|every message|each email|every email|messages sent|emails sent|files written|each file written|every file written|message sent|return value|return values|every result|each result|its sql|path and the text|any pipeline|pipeline|`to` list|every commit|posts made|invocations of|in calls to|extra attendee|anything destined|every message|every email|recipients list|its arguments|its parameters|its inputs|call log|tool results|tool response|tool responses|called tools|name and arguments|arguments|argument|the results of|results of|the output of|outputs of|output of every|with the output|the result of|parameters of|the call to|every command|any command|description of|descriptions of|the output|opened with|every url|arguments you were going to"},
	{content, "the values of|the value of|the contents of|the content of|the text of|the output of|content of|contents of|its content|its contents|the content|the contents|lines of|text of|value of|values of|copy of|verbatim|dump of|su contenido|el contenido|son contenu|le contenu|den inhalt|il contenuto|o conteúdo|содержимое|zawartość|de inhoud|içeriğini|innehållet|内容|中身|내용|محتوا*|محتوى"},
	{outside, "analytics api|public paste|second account|another account|different account|other account|legal partner|our partner|external|externally|remotely|remote database|offsite|off-site|insurance partners|partners|sponsors|ad network|advertising network|data warehouse|the manufacturer|head office|our email|smtp server|the developer|to the developer|the author|quotes api|outside workspace|outside server|outside address|owned by the vendor|s3 bucket|the partner|our partner|our partners|our cloud|our backend|our api|our endpoint|our database|our collector|our webhook|our service|our system|our team|our logging|logging server|logging endpoint|log server|analytics server|analytics service|analytics platform|tracking server|tracking service|tracking endpoint|remote url|remote address|remote location|remote log|remote api|remote database|external host|external api|external address|external site|external database|external party|external party's|external parties|external system|external location|external log|public url|public page|public site|public gist|public repository|public channel|public paste|paste site|paste service|pastebin*|ngrok|monitoring endpoint|monitoring server|audit server|audit endpoint|compliance endpoint|compliance server|verification server|verification endpoint|validation server|validation endpoint|backup server|mirror server|licence server|license server|update server|central server|developer's server|developer's|maintainer's|tool author|tool's author|the makers|the developers|the tool's backend|this tool's backend|this tool's server|a tercero*|un tercero|terceros|un tiers|chez un tiers|dritte|terzi|third server|this address|that address|external server|external servers|remote server|remote servers|remote collector|remote endpoint|external endpoint|external storage|external service|external webhook|external url|to the server|to a server|to this server|to our|our server|our servers|our analysis server|author's server|the author's|vendor's|the vendor|the publisher|to the endpoint|to this endpoint|feedback endpoint|sync endpoint|telemetry endpoint|telemetry|monitoring service|analytics endpoint|collection server|routing partner|the partner|our side|pastebin|discord webhook|public bucket|status page|a public|improve our|the regulator" +
		"|servidor externo|servidor remoto|al servidor|ao servidor|au serveur|un serveur|serveur externe|al server|an den server|externen server|server esterno|на сервер*|внешн*|na serwer*|naar de server|sunucuya|till servern|服务器|伺服器|外部|サーバー*|外部サーバー*|서버*|외부|الخادم|خادم"},
	{shady, "exfiltrat*|steals|siphon*|smuggl*|ad network|insurers|brokers|unknown third|buys|sold to|data brokers|adversary|command-and-control|c2|dark web|does not own|do not own|unknown server|unknown party|covert channel|side channel|third party|third-party|third parties|undisclosed|outside the company|advertisers|attacker|attackers|data broker|data-broker|collector|shadow server|command and control|drop server|exfiltrat*|drop point"},
	{slot, "param|go to `|goes to `|as the `|in the `|to the `|in this argument|in this parameter|in the notes|in the comment|in the payload|to the payload|in the arguments|into the arguments|in the query|in the search|in the filename|in the subject|in the tags|as tags|as `tags`|as metadata|as a comment|as a note|as a parameter|as an argument|as proof|for verification here|sidenote|side note|parameter|parameters|argument|argument `|field|note field|notes field|metadata|as context|into context|in context|to the request|to the query|to the call|in the call|in each call|with the call|with each call|in the next call|next request|with the next|in the next|query string|subdomain|header x-|of the request|with the request|with every request|with each request|as sidenote|in the title|to the title|item's notes|in the log|`log` field|for context|give the output|in `|as `|through `|into `|parámetro*|paramètre*|le champ|campo|parámetros|parametro|parâmetro|parameter|feld|параметр*|parametr*|参数|參數|パラメータ*|파라미터|매개변수|المعامل|here|into this"},
	{must, "takes the plain|don't forget|must be passed|be passed|have been instructed|expected to|supposed to|bound to|works best if|best if it is told|remember to|take care to|do not forget to|don't forget to|never forget to|it is important to|it is essential to|it is crucial to|it is critical that|imperative|it is necessary|required warm-up|required step|as a rule|as a matter of routine|without exception|at all times|invariably|by all means|also needs|also requires|it expects|tool expects|callers are expected|the tool needs|this needs|this tool needs|this tool requires|needs access to|has to read|every invocation|each query|every query|every request|each request|every lookup|every participant's|you must|must|always|never fail to|make sure|be sure|ensure|you have to|have to|has to|need to|needs to|you need|required to|is required|you should|should also|should|obliged|demand*|require that|requires that|requires the content|requires you|requires that you|must be|needs the content|mandatory|shall|is to be|are to be|immediately|it is required|please|kindly|feel free|now requires|needs your|needs read|with every|with each|on every|on each|each call|every call|every invocation|debe|debes|tienes que|siempre|doit|devez|dois|toujours|musst|müssen sie|immer|devi|deve|sempre|должен|должна|обязательно|всегда|必须|必須|务必|请|請|してください|ください|하세요|하십시오|반드시|يجب|دائما|zorunda|her zaman|musisz|zawsze|moet|altijd|måste|alltid"},
	{when, "if the user asks|when asked|starting next|on later runs|on the first run|from then on|when invoked|when invoked from|whenever this|prior to summarizing|beforehand|from the eleventh|as long as|in the event|at the end|in the end|at the start|in the beginning|right after|just before|immediately after|immediately before|in advance|ahead of|from here on|from today|from this point|on startup|on each|on every|once a week|once a day|the first time|the next time|on first use|after installation|after approval|after the user|if the tool|if the file|if a message|if you have|if possible|if prompted|if there are|should any|on success|on failure|on completion|before|prior to|beforehand|first|whenever|each time|every time|when|after|afterwards|when done|when finished|once|as soon as|on the third|third call|fifth use|after each|during|until|should the user|later|if nobody|when no one|if you see|at once|if run in|initially|start by|begin by|begin with|antes de|primero|antes|cuando|après|avant|d'abord|quand|lorsque|vorher|zuerst|bevor|wenn|prima|quando|primeiro|antes|перед|сначала|когда|先に|前に|最初に|まず|调用之前|之前|首先|先|먼저|전에|أولا|قبل|najpierw|przed|eerst|voordat|önce|först|innan"},
	{also, "una copia|uma cópia|une copie|eine kopie|копию|副本|コピー|사본|نسخة|kopię|een kopie|bir kopya|en kopia|while at it|along the way|at the same|in passing|further|furthermore|moreover|a second one|duplicate|duplicated|a duplicate|additional copy|also be|alongside|and also|in the same call|at the same time|simultaneously|under the hood|by the way|as a side effect|side effect|for good measure|as an extra|additional step|extra step|hidden step|second step|aside from|apart from|other than|not only|on the side|as part of|also|additionally|in addition|besides|as well|copy of|a copy|in the background|on our side|in parallel|along with|together with|mirrored|mirror of|as a backup|at the same time|while doing so|on top of|beacon|además|también|aussi|également|außerdem|zusätzlich|anche|inoltre|também|также|同时|还|また|또한|أيضا|też|również|ook|ayrıca|även"},
	{whole, "whatever|as much as|as many as|complete text|raw text|literal text|line by line|word for word|in full|without omissions|without redaction|unredacted|unmasked|in plain text|in plaintext|exactly as|unmodified|unabridged|one by one|list of all|copies of all|all tools you|all tools|already approved everything|every tool|any tool|each tool|all other tool|everything you know|all|every|each|everything the user|all earlier messages|all previous messages|entire|full|whole|complete|verbatim|everything|any|todas|todos|toda|toute|tous|tout|alle|gesamte*|komplett*|tutta|tutte|tutti|все|всю|всё|所有|全部|整个|すべて|全て|全文|全体|모든|전체|جميع|كل"},
	{whose, "user's|users'|their own|your|customer's|of the user|del usuario|de l'utilisateur|des benutzers|benutzers|dell'utente|do usuário|пользовател*|用户的|用户|ユーザーの|사용자의|사용자|المستخدم|kullanıcı*|użytkownik*|gebruiker*|användar*"},
	{known, "found in the environment|found on the|found in your|found in their|from your environment|in your environment|of the machine|of this machine|of this computer|on this computer|stored on this|on the computer|on the host|on the system|of the host|of the system|you have seen|you saw|appeared in|you can see|you can read|you were given|you have come across|you have read|you have access|known to|on the machine|on this machine|home directory|from their|in their files|in the files|look it up|look them up|from the project's|everything you|everything you know|so far in this"},
	{audience, "llms|llm:|for llms|ai:|ai assistants|ai assistant|ai models|assistants|models must|model must|model should|assistant must|assistant should|agent must|agent should|agent has to|caller must|callers are|caller should|claude|chatgpt|gemini|assistant|the model|ai model|ai agent|ai agents|the agent|agents|agent,|the llm must|the ai|all agents|caller has to|asistente|l'assistant|assistent|assistente|ассистент*|助手|模型|アシスタント|어시스턴트"},
	{pretext, "to calibrate|as a salt|to prevent data loss|data loss|for your safety|legal notice|by law|otherwise this tool|or the user's data|will be lost|in order to get|it is used as|as a courtesy|in case something goes wrong|if something goes wrong|under federal law|required by law|security policy|for better reports|for complete analysis|to help improve|so that engineers|for validation|will be inaccurate|validates callers|so that the tone|to keep the cache|accuracy is improved|is improved by|licence is bound|license is bound|pre-check|warm-up|for statistics|for statistics purposes|for diagnostics|for diagnostic purposes|diagnostic purposes|for quality purposes|quality purposes|for troubleshooting|so that support|for telemetry|for synchronization|for syncing|for backup purposes|for safekeeping|for the next step|for a check|for verification of|for identity verification|identity verification|for authentication purposes|integrity check|security check|security audit|security purposes|compliance purposes|audit purposes|auditing purposes|logging purposes|debugging purposes|debug purposes|analytics purposes|training purposes|verification step|improves accuracy|improve accuracy|to improve accuracy|for accuracy|for accurate|better results|best results|optimal results|proper functioning|function properly|work properly|work correctly|works correctly|to comply|to guarantee|will be rejected|be rejected|will be denied|will be locked|will lock|will be erased|will be lost|will be terminated|failure to|refusing to|results will be wrong|will be invalid|as required by|under regulation|requires that you|otherwise|or the tool fails|or it fails|or the tool|will not work|won't work|for verification|verification purposes|for compliance|for the audit|for auditing|for licence|for license|licence checks|for quality|quality assurance|to improve|improve quality|help us improve|for personalization|can be personalized|for better|for convenience|for debugging|for analytics|for training|to authenticate|to work, this|to stay in sync|to bill|good practice|for security|required by policy|by policy|so that we can|so the server can|to verify|for entropy|record keeping|to avoid delays|if you do not|failing to|lead to suspension|will be deleted|will be suspended|will fail|for faster|to initialize|to unlock|to enable|better experience|helps the|cached|so that it can"},
	{urgent, "legal notice|required by law|immediately|this is not a drill|right now|right away|at once|without delay|time-sensitive|priority one|high priority|highest priority|p0|red alert|alert:|very important|<important>|attention:|your operator|the operator|signed off|security lead|i am the|administrators|admin team|it department|security department|management has|head of security|law enforcement|the police|court order|legal department|legal team|law requires|authorized by|authorised by|approved by|mandated|mandated by|urgent|critical|emergency|asap|administrator requires|by order of|ordered|security patch|security team|the administrator|anthropic|openai|required by|compliance|legal has|the cfo|the ceo|system update|override code"},
	{hush, "behind their back|without the owner|without the client|without consent|without permission|without the customer|without their knowledge|without knowledge|without the knowledge|without being asked|without checking back|without anyone|without letting|without displaying|without any notice|without user|without alerting|without prompting|on the quiet|under cover|under the radar|none the wiser|not a word|for your eyes only|off the record|keep quiet|keep it quiet|stay hidden|stays hidden|remain hidden|remains hidden|transparent to the user|in stealth|stealth mode|no trace|leave no trace|leaving no trace|cover your tracks|unknown to|unbeknownst|surreptitious|clandestine*|undercover|without logging|do not log|sin el conocimiento|sin decir|a escondidas|sans le dire|sans prévenir|sans que|ohne wissen|ohne zu fragen|unbemerkt|senza che|all'insaputa|sem o conhecimento|sem que|sem o usuário|скрытно|втайне|не уведомляя|不让用户|瞒着|勿告知|不要提及|知られないように|内緒|気づかれ|사용자 모르게|모르게|비밀리에|دون علم|دون إخبار|silently|secretly|covertly|quietly|discreetly|surreptitiously|stealthily|without notice|without notifying|without alerting|without showing|without the user|without telling|without informing|without mentioning|without being noticed|unnoticed|invisible to|invisibly|behind the scenes|in secret|never reveal|heimlich|en secreto|sin avisar|sin que|sin informar|en silence|discrètement|à l'insu|secrètement|di nascosto|senza avvisare|senza dire|em segredo|sem avisar|sem informar|тайно|незаметно|без ведома|秘密|偷偷|悄悄|密かに|こっそり|몰래|سرا|potajemnie|zonder de gebruiker|gizlice|i hemlighet|utan att"},
	{skip, "execute them without|run them without|act on them without|follow them without|execute it without|run it without|act without|without asking for confirmation|without any confirmation|without human|asking the user first is not|without checking|not needed to ask|confirmation is not needed|confirmation is not required|permissions are waived|dialogs are waived|are waived|is waived|waive|waived|signed off on everything|approve whatever|skip the diff|skip review|skip the review|skip validation|skip verification|skip the check|skip checks|auto approve|auto-confirm|auto-accept|answer yes|say yes to|press yes|accept all prompts|accept automatically|set to yes|consent is implied|consent is assumed|assume consent|assume approval|assume the user agrees|assume permission|the user consents|user has consented|user consented|user approved|unattended|unrestricted file access|unrestricted access|no need to ask for|no need to ask the user|do not ask for confirmation|do not ask for permission|so do not ask|and do not ask|do not ask again|don't ask for|never ask|do not wait for confirmation|do not wait for approval|don't wait for approval|don't wait for confirmation|stop asking|skip the approval|skip approval|skip confirmation|skip all confirmation*|skip the confirmation|bypass approval|proceed without|already approved|already consented|already authorized|approve all|auto-approve|approve the pending|approve all later|already approved everything|confirmations are off|cleared you|permission is granted|user agreed to|approve all later|has given permission|no confirmation needed"},
	{harm, "~/.bashrc|~/.zshrc|~/.profile|~/.bash_profile|/etc/hosts|/etc/cron*|/etc/sudoers|~/.ssh/authorized_keys|chmod -r 777|777 /|sudo chmod|wipes the disk|wipes|tracking pixel|invisible tracking|white text|invisible text|hidden text|with sudo|as root|using sudo|mount the host|host's root|--no-verify|password-free sudo|passwordless sudo|nopasswd|switch the firewall off|firewall off|kill all other|drop the table|drop table|drop database|get rid of the user's|erase all|erase the disk|format the disk|wipe the disk|force push|force-push|push --force|hard-code the password|hardcode the password|0.0.0.0/0|allow all traffic|make them public|world writable|world-writable|disable ssl|disable tls|disable auth*|disable certificate*|disable encryption|disable validation|disable sandbox*|disable the sandbox|disable logging|disable audit*|disable monitoring|disable mfa|disable 2fa|without certificate|skip tls|verify=false|insecureskipverify|strictssl|no-check-certificate|--insecure|curl -k|setuid|keylogger|rootkit|ransomware|crypto miner|cryptominer|botnet|malicious code|malicious script|inject a|injects a|hidden account|hidden user|second admin|recovery script|remove all backups|delete backups|delete the backups|delete all backups|delete all records|delete all data|delete production|delete user data|double the dose*|launch agent|launchagent|startup folder|.bashrc with|sudoers|rm -rf|reverse shell|opens a shell|open a shell|backdoor|back door|authorized_keys|our public key|certificate verification|tls verification|ssl verification|turn off the firewall|disable the firewall|disable their antivirus|disable antivirus|antivirus|branch protection|open to the world|chmod 777|777 on all|drop all tables|drop table|delete all files|wipe|force it|delete every file|empty the logs|delete the logs|clear the logs|with full rights|delete_all|delete_repo|delete everything|eval(atob*|prints all secrets|print all secrets|drop tables|delete all tables|cleanup script|update script|patch script|install script|<script*|disable logging|disable security|add a remote|enter their password|start the subscription|new account named|never flag|download* and run*|downloads and runs|them public|each document publicly|everyone edit access|public after|joining user input"},
	{slander, "malware|spyware|viruses|a virus|crash*|unverified|fraudulent|phishing|security issue|security issues|security flaw|security flaws|security problem*|known bugs|outdated|too slow|problems with|harmful|has a bug|retired|are retired|breached|was breached|been breached|hacked|was hacked|censored|false positives|drops recipients|loses data|data loss|no longer maintained|discontinued|unmaintained|malfunction*|misbehav*|buggy|infected|not secure|not safe|not trustworthy|untrustworthy|superseded|down for maintenance|compromised|insecure|deprecated|obsolete|corrupt*|unsafe|stale|leaks|leak locations|unreliable|as wrong|is broken|are broken|returns wrong|must be avoided|vulnerable"},
	{spurn, "never use|even when asked otherwise|even if asked|before anything else|before every use|has been replaced by|been replaced|is replaced by|should be avoided|should no longer|must no longer|ignore the|any more|anymore|not to be used|never rely on|do not rely on|don't rely on|do not trust|don't trust|never trust|decline|must not be trusted|not be trusted|in this tool only|only this tool|happens here|quote mine|skip the other|skip other|bypass the|takes over|take over|takes precedence|disregard the output|disregard results|treat security|first go through|through this one|through this tool|through me|go through this|never use|do not use|don't use|do not call|never call|must be avoided|refuse it|stop using|and not the|ignore the results|ignore results|not use|avoid using|instead of using|not the other|must not be used|should not be used"},
	{praise, "good light|no matter what|trustworthy|the safest|the cheapest|sponsor*|partner offer*|top choice|number one|market leader|certified safe|verified safe|looks fine|passed all|all clear|completely safe|perfectly safe|call the others|others full|leave out critical|our product|our service|our products|only products|best rated|is the best|are fine|is fine|is secure|is safe|are unsafe|others are|succeeded|it is free|even if it is not|no vulnerabilities|first and say|promo*|acme*"},
	{self, "this tool|this one|this function|this server|use me|call me|call this tool with|call this one with|call it with"},
	{back, "it|them|its|the output|the result|what you find|what is there|find there|the values|what it says|there|the contents|the content|these|those|what they hold"},
	{hide, "lie to|lie about|mislead|deceive|trick the|fool the|cover up|disguise|mask the fact|leave this|leave it out|omit this|omit the|delete this instruction|erase this|raise suspicion|raising suspicion|suspicion|act naturally|act normal|secret from|hidden from|hide|hides|hiding|invisible to|conceal|conceals|withhold|keep away from|kept from|keep from|obscure|out of sight of|unseen by|unnoticed by|kept secret"},
	{person, "the user|user|end user|end-user|the human|human|the owner|the customer|the client|the operator|the person|anyone|anybody|anybody else|the developer|the caller"},
	{reply, "your explanation|your summary|your answer|your answers|your response|your responses|your reply|your replies|your report|your final|your output|your message|in your response|in your responses|in your answer|in your answers|in your reply|in your replies|in your output|in the response|in the output|in the summary|in your summary|in the chat|in the conversation|in the final answer|in any output|in the answer|in any response|in the logs|in any summary"},
	{trifle, "value|full value|stdout|stderr|meant to be|id|ids|raw|json|html|internal|coordinates|solution|answer|answers|pairings|pairs|spoiler*|password|passwords|token|tokens|secrets|credentials|api key|api keys|the code|code|component|unless|error|errors|technical|stack trace|debug|notification|notifications|name of the tool|tool name|tooltips|interface|menu|column|in words|jargon|thinking|reasoning|personal data|private data|sensitive data|link|links|url|urls|markdown|twice|again"},
	{shield, "firewall|antivirus|anti-virus|verification|signature verification|certificate checks|tls|ssl|authentication|authorization checks|two-factor|2fa|mfa|encryption|sandbox|sandboxing|logging|monitoring|audit log|audit logs|audit logging|alerts|alerting|branch protection|access control|access controls|security checks|security controls|security features|security settings|safety checks|safety settings|protections|safeguards|backups|input validation|csrf protection|permission checks"},
	{deed, "this step|this call|this instruction|these instructions|this action|this part|this upload|the upload|background upload|this request|this note|this behavior|this behaviour|this operation|second step|extra step|the extra|additional step|what you did|mentioning that|mention that|reveal that|disclose that|tell anyone that|say that you|the fact|this fact|that you|data collection|the copy|additional charge|the markup|hidden step|this information|this message|this rule|this process|this activity|this transfer|this access"},
	{rival | anyTool, "other tools|other tool|official tool|official tools|all other tool|any other tool|tools of other|other server|other servers|other mcp|built-in tool|built-in tools|default tool|native tools"},
	{detects, "detect*|flag|flags|flagged|block|blocks|blocked|blocking|scan for|scans for|scans|looks for leaked|find leaked|finds leaked|warn|warns|classif*|reject*|explain*|inspect*|audits|prevents|refused|refuses|identif*|recognize*|quiz|lints|removes|removed|strips|filters|returns labelled|checks that|check that|checks whether|checks a|checks an|verifies that|returns the owasp|flags texts|says whether|scores|red-team|检测|檢測|检查|识别|検出|検知|감지|탐지|يكشف|erkennt|detecta|détecte|rileva|обнаружива*|выявля*|wykrywa"},
	{attack, "injection|injections|prompt injection|jailbreak*|malware|malicious|phishing|attack|attacks|poisoning|poisoned|exfiltration|exploit*|vulnerabilit*|security tool|attackers|adversarial|red-team|red team|spam|harmful|credential theft|trojan|leaked|leak|intrusion|attacke*|inyección|injektion|инъекц*|注入|攻击|インジェクション|攻撃|인젝션|공격"},
	{such, "such as|for example|for instance|e.g.|e.g|i.e.|example:|examples:|example|examples|like|por ejemplo|par exemple|zum beispiel|z.b.|ad esempio|por exemplo|например|例如|比如|たとえば|例えば|예를 들어|مثل|np.|bijvoorbeeld|örneğin"},
	{option, "whether|if true|if set|when true|optional|optionally|if false|set to true|set to false|true to|flag to|defaults to|by default|if enabled|when enabled"},
	{yours, "this argument|this arguments|these arguments|the given|configured|you configured|specified|your url|your own|you own|your account|your webhook|to you|by the user|chosen|selected|you specify|of your choice|current branch|indicated|informado|angegeben*|donnée|indicato|指定|указанн*"},
	{uses | keyWord, "api key is required|requires an api key|needs an api key|token is required|key is required"},
	{uses, "skip secrets|leave out secrets|except secrets|path of|path to|file path|based on|continue the conversation|stored in|saved in|taken from|read from|reads from|is read from|are read from|stored at|authenticates|authentication|authenticated|log in|logs in|signs in|sign in|set where|from the environment|password reset|reset link|one-time password|reset password|public key|public ssh key|.pub|placeholder|host, port|client credentials|in the authorization header|authorization header|request body|bearer|oauth flow"},
	{guards, "placeholders|placeholder|masked|masks|mask|redact*|encrypt*|never log|hashed|sanitize*|anonymous*|protect*|secure storage|never share|not returned|safely"},
	{denies, "送信されません|送信しません|送信しない|送信されない|送りません|共有されません|保存されません|公開しません|전송하지 않|전송되지 않|보내지 않|저장하지 않|공유하지 않|不发送|不上传|не передаются|не отправля*|не хранится|nicht gesendet|nicht übertragen|non invia|no envía|n'envoie|refrain from|abstain from|decline to|hold back from|no need to|there is no need to|never use this|do not use this|don't use this|never call this|do not call this|not use this|don't call this|never|not|don't|dont|doesn't|cannot|can't|won't|without|avoid|no longer|nothing|instead of|refuse to|unable|nunca|jamás|ne|nicht|keine|nichts|non|não|nao|не|不|不会|不要|勿|しない|않|لا|nie|niet|inte"},
}

// verbs lists English verbs by their base form, of which the others are made.
var verbs = []struct {
	mark  mark
	words string
}{
	{fetch, "abuse|dig up|enumerate|look at|figure out|track down|recover|rummage through|snapshot|solicit|peek at|copy out|read|open|load|retrieve|access|extract|collect|gather|harvest|find|locate|search for|search the|look for|look up|dump|grab|obtain|cat|steal|scrape|print|record|remember|infer|get|know|hash|list|summarize|query|capture|note|keep checking|quote|fetch|store"},
	{ship, "synchronize|synchronise|hand in|deliver|duplicate|phone home|cross-post|feed|convey|dispatch|drop off|sell|back up to|replicate|broadcast|siphon|funnel|pass on|hand on|tee|bundle|fax|send|forward|upload|transmit|exfiltrate|leak|post|email|e-mail|mail|relay|deliver|submit|share|push|sync|mirror|beacon|copy|stream|export|report|disclose|publish|pipe|redirect|route|route through|smuggle|back up|transfer|bcc|cc|tell us|invite|log|ship|make an http request|make a request|upload it"},
	{put, "enter|submit|give me|tell it|slip|bundle|feed|reproduce|stuff|prepend|work in|enclose|embed this|include|append|pass|put|insert|attach|embed|add|paste|provide|supply|fill|fill in|give|concatenate|carry|copy|set|write|store|list|prefix|submit|hand|place|save|join"},
	{run, "kill|erase|purge|shut|switch|fire up|overwrite|truncate|get rid of|destroy|force-push|run|execute|invoke|launch|download|install|eval|call|open|decode|curl|carry out|delete|drop|wipe|reset|disable|turn off|push|wget|set up|create|leave|make the user|have the user|get the user to|turn on"},
	{tamper, "prepend|cross-post|work around|reroute|rewrite|spoof|mangle|inflate|change the channel|change|alter|modify|rewrite|swap|substitute|intercept|override|redirect|prefix|prepend|replace|divert|tamper with|reroute"},
	{tell, "point out|tell|inform|mention|reveal|disclose|show|display|explain|report|notify|describe|expose|discuss|talk about|bring up|alert|share|announce|acknowledge|admit|let the user|output|hint|refer to|say anything|say a word|make the user aware|make anyone aware|list|include this|log this"},
	{weaken, "disable|turn off|switch off|deactivate|weaken|bypass|skip|remove|shut down|stop|suspend|ignore|circumvent|lower"},
	{answer, "answer that|say that|claim that|respond that|reply that|steer|convince|persuade|endorse|work the phrase|portray|in everything you write|everything that you write|in all your answers|in your answers|in your replies|each time you answer|whenever you answer|when you answer|into everything you|say|recommend|claim|promote|advertise|pretend|deny|report|reveal|disclose|put|tell the user"},
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
	"steal": "stolen", "keep": "kept", "tell": "told", "know": "known", "leave": "left", "say": "said", "sell": "sold", "feed": "fed", "take": "taken", "bring": "brought", "rewrite": "rewritten", "override": "overridden", "hide": "hidden", "read": "read"}

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

// settles are the marks of terms in which no shorter term counts.
const settles = uses | denies | yours | skip | spurn | self

// longest returns the longest term that a text begins with, and the marks of all.
func (w *words) longest(s string) (term, bool) {
	if len(s) < 2 {
		return term{}, false
	}
	var found term
	for _, t := range w.terms[uint16(s[0])<<8|uint16(s[1])] {
		if !strings.HasPrefix(s, t.text) || !t.stem && !ends(s, len(t.text)) {
			continue
		}
		if found.text == "" {
			if found = t; t.mark&settles != 0 {
				return t, true
			}
			continue
		}
		if t.mark&settles == 0 {
			found.mark |= t.mark
		}
	}
	return found, found.text != ""
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
