package scan

// foreignTable lists the plainest phrases in other languages: to ignore what was
// said before, and to keep something from the user.
var foreignTable = []phrase{
	// Chinese
	{ruleOverride, Serious, whyOverride, []string{"忽略", "無視", "无视", "忘记", "忘記"}, nil,
		`(?:忽略|無視|无视|忘记|忘記)(?:掉)?(?:所有|全部|一切|任何|你|您)?(?:之前|先前|以前|以上|前面|上述|此前|系统|系統)(?:的)?(?:所有|全部|任何)?(?:的)?(?:指令|指示|提示|` +
			`命令|规则|規則|说明|說明|要求|提示词|对话|對話)`, ""},
	{ruleConceal, Serious, whyConceal, []string{"用户", "用戶", "使用者"}, nil,
		`(?:不要|不得|不能|切勿|请勿|請勿|禁止|别|別|不可|无需|無需)(?:再|向|对|對|让|讓|告诉|告訴|告知|通知|提醒|透露|提及|用户|用戶|使用者|其|任何|给|給){1,3}(?:用户|用戶|` +
			`使用者)?(?:告诉|告訴|告知|透露|提及|提到|知道|发现|發現|察觉|察覺|说明|說明|此事|这|這)|(?:不要|不得|切勿|请勿|請勿|禁止|别|別)(?:告诉|告訴|告知|通知)(?:用户|用戶|使用者)`,
		""},
	// Japanese
	{ruleOverride, Serious, whyOverride, []string{"無視", "忘れ", "従わない"}, nil,
		`(?:以前|これまで|上記|前|先|今まで|システム)の(?:すべての|全ての|あらゆる)?(?:指示|命令|プロンプト|ルール|指令)(?:を|は)(?:すべて|全て)?(?:無視|忘れ|従わない)`, ""},
	{ruleConceal, Serious, whyConceal, []string{"ユーザー", "ユーザ", "利用者"}, nil,
		`(?:ユーザー?|利用者)に(?:は)?(?:絶対に|決して|一切)?(?:この(?:こと|事)を|これを|何も)?(?:言わない|伝えない|知らせない|教えない|告げない|言及しない|話さない|明かさない|通知しない)`, ""},
	// Korean
	{ruleOverride, Serious, whyOverride, []string{"무시", "잊어"}, nil,
		`(?:이전|앞선|기존|위의?|지금까지의?|시스템)\s*(?:의\s*)?(?:모든\s*)?(?:지시|지침|명령|프롬프트|규칙)(?:사항)?(?:을|를|들을)?\s*(?:모두\s*|전부\s*)?(?:무시|` +
			`잊어)`, ""},
	{ruleConceal, Serious, whyConceal, []string{"사용자"}, nil,
		`사용자(?:에게|한테)(?:는)?\s*(?:절대\s*|이를\s*|이것을\s*|이\s*사실을\s*)*(?:말하지|알리지|언급하지|알려주지|공개하지|밝히지|보고하지)\s*(?:마|말|않)`, ""},
	// Spanish, Portuguese, Italian
	{ruleOverride, Serious, whyOverride, []string{"ignora", "ignore", "olvida", "descarta", "omite", "esqueça",
		"desconsider", "dimentica"}, nil,
		`\b(?:ignora(?:r|te|d)?|ignore|olvida(?:r)?|olvide|descarta(?:r)?|esqueça|desconsidere|desconsiderar|` +
			`dimentica(?:re)?)\s+(?:(?:todas?|todos?|tutte|tutti|las|los|as|os|le|gli|i|sus|tus|suas|qualquer|` +
			`cualquier)\s+){0,3}(?:(?:anteriores|previas|previos|precedenti|prévias|instrucciones|instruções|istruzioni|` +
			`órdenes|indicaciones|reglas|regras|regole|mensajes|mensagens)\s*){1,2}(?:anteriores|previas|anteriori|` +
			`precedenti|prévias|del\s+sistema|do\s+sistema|di\s+sistema)?`, ""},
	{ruleConceal, Serious, whyConceal, []string{"usuario", "usuário", "utilizador", "utente"}, nil,
		`\b(?:no|não|non|nunca|jamás|jamais|mai|sin|sem|senza)\s+(?:se\s+)?(?:lo\s+|le\s+|o\s+)?(?:digas?|diga|informes?|` +
			`informar|informare|menciones?|mencionar|mencione|menzionare|reveles?|revelar|revele|rivelare|avises?|avisar|` +
			`avise|avvisare|notifiques?|notificar|notifique|cuentes|contar|conte|dire|dirlo|comunicare|decir|` +
			`dizer)\s+(?:\S+\s+){0,4}?(?:al|a|ao|el|o|all')\s*(?:usuario|usuário|utilizador|utente)\b`, ""},
	// French
	{ruleOverride, Serious, whyOverride, []string{"ignore", "ignorez", "oublie", "oubliez"}, nil,
		`\b(?:ignorez?|ignorer|oubliez?|oublier)\s+(?:(?:toutes?|tous|les|tes|vos|ces)\s+){0,3}(?:instructions?|` +
			`consignes?|directives?|règles|messages?|ordres?)\s+(?:précédente?s?|antérieure?s?|ci-dessus|du\s+système|` +
			`système|préalables?)`, ""},
	{ruleConceal, Serious, whyConceal, []string{"utilisateur"}, nil,
		`\b(?:ne|n'|sans)\s*(?:le\s+|en\s+|rien\s+)?(?:dis|dites|dire|mentionnez?|mentionner|informez?|informer|révélez?|` +
			`révéler|parlez?|parler|prévenez|prévenir|avertis(?:sez)?|avertir|signalez?|signaler)\s+(?:pas\s+|jamais\s+|` +
			`rien\s+)?(?:\S+\s+){0,4}?(?:à\s+l'|l'|de\s+l')utilisateur`, ""},
	// German
	{ruleOverride, Serious, whyOverride, []string{"ignorier", "vergiss", "vergessen", "missachte"}, nil,
		`\b(?:ignoriere(?:n)?|vergiss|vergessen\s+sie|missachte(?:n)?)\s+(?:sie\s+)?(?:(?:alle|sämtliche|die|deine|ihre|` +
			`jegliche)\s+){0,3}(?:vorherigen?|bisherigen?|früheren?|vorigen?|obigen?|vorangegangenen?|` +
			`vorangehenden?)\s+(?:\S+\s+)?(?:anweisungen?|anleitungen?|befehle?|regeln|vorgaben|instruktionen|nachrichten)`,
		""},
	{ruleConceal, Serious, whyConceal, []string{"benutzer", "nutzer", "anwender"}, nil,
		`\b(?:(?:sag(?:e|en)?|teil(?:e|en)?|verrat(?:e|en)?|erzähl(?:e|en)?|melde(?:n)?)\s+(?:sie\s+)?(?:es\s+|dies\s+|` +
			`das\s+)?(?:dem|den)\s+(?:be)?(?:nutzer|anwender)\s+(?:\S+\s+){0,4}?(?:nicht|nichts)|(?:erwähn(?:e|en)|` +
			`informier(?:e|en))\s+(?:sie\s+)?(?:\S+\s+){0,3}?(?:gegenüber\s+)?(?:dem|den)\s+(?:be)?(?:nutzer|` +
			`anwender)\s+(?:\S+\s+){0,3}?(?:nicht|nichts)|ohne\s+(?:den|dem)\s+(?:be)?(?:nutzer|` +
			`anwender)\s+(?:\S+\s+){0,3}?zu\s+(?:informieren|sagen|erzählen))`, ""},
	// Russian
	{ruleOverride, Serious, whyOverride, []string{"игнорир", "проигнорир", "забудь", "забудьте"}, nil,
		`(?:про)?(?:игнорируй(?:те)?|игнорировать)\s+(?:\S+\s+){0,2}?(?:предыдущие|прежние|прошлые|вышеуказанные|` +
			`системные)\s+(?:\S+\s+)?(?:инструкции|указания|команды|правила|сообщения)|` +
			`забудь(?:те)?\s+(?:\S+\s+){0,2}?(?:предыдущие|прежние|прошлые|системные)\s+(?:инструкции|указания|команды|` +
			`правила)`, ""},
	{ruleConceal, Serious, whyConceal, []string{"пользовател"}, nil,
		`не\s+(?:говори(?:те)?|сообщай(?:те)?|упоминай(?:те)?|рассказывай(?:те)?|раскрывай(?:те)?|показывай(?:те)?|` +
			`уведомляй(?:те)?)\s+(?:\S+\s+){0,3}?пользовател[юяе]`, ""},
	// Arabic, Turkish, Hindi
	{ruleOverride, Serious, whyOverride, []string{"تجاهل", "önceki", "पिछले", "पिछली"}, nil,
		`تجاهل\s+(?:جميع\s+|كل\s+)?(?:التعليمات|الأوامر|التوجيهات|القواعد)\s+السابقة|önceki\s+(?:tüm\s+|` +
			`bütün\s+)?(?:talimatlar[ıi]|komutlar[ıi]|yönergeleri)\s+(?:yok\s+say|unut|görmezden\s+gel|dikkate\s+alma)|` +
			`पिछल[ेी]\s+(?:सभी\s+)?निर्देश(?:ों)?\s+को\s+(?:अनदेखा|नज़रअंदाज़|भूल)`, ""},
	{ruleConceal, Serious, whyConceal, []string{"المستخدم", "kullanıcı", "उपयोगकर्ता"}, nil,
		`لا\s+(?:تخبر|تذكر|تبلغ|تُخبر|تكشف)\s+(?:\S+\s+){0,3}?(?:ل)?لمستخدم|لا\s+(?:تخبر|تُخبر|تبلغ)\s+المستخدم|` +
			`kullanıcıya\s+(?:bundan\s+|bunu\s+|hiçbir\s+şey\s+)*(?:söyleme|bahsetme|bildirme|açıklama)|` +
			`उपयोगकर्ता\s+को\s+(?:\S+\s+){0,2}?(?:मत|न|नहीं)\s+(?:बता|बताएं|बताना)`, ""},
	// Wider forms of the same, in the languages above.
	{ruleOverride, Serious, whyOverride, []string{"caso omiso", "ignor", "olvida", "esqueç", "oubli", "vergiss", "missacht", "dimentic", "zapomnij", "negeer", "vergeet", "unut", "yok say", "glöm"}, []string{"sistema", "indicad", "instruc", "reglas", "regras", "instruç", "consignes", "règles", "système", "anweisung", "regeln", "vorgaben", "istruzioni", "regole", "instrukcj", "polecen", "instructies", "opdracht", "talimat", "instruktion"},
		`\bhaz\s+caso\s+omiso|\b(?:ignora|olvida|ignore|esqueça|oublie[zr]?|ignore[zr]?|ignoriere[n]?|vergiss|missachte[n]?|dimentica|zignoruj|zapomnij|negeer|vergeet|ignorera|glöm)\s+(?:\S+\s+){0,4}?(?:del\s+sistema|do\s+sistema|du\s+système|instrucciones|reglas\s+(?:del|anteriores)|regras\s+do|instruções|consignes|systemregeln|anweisungen|vorgaben|istruzioni|regole\s+del|instrukcj\w+|polece\w+|instructies|opdrachten|instruktioner)|talimatlar\S*\s+(?:\S+\s+)?(?:yok\s+say|unut|görmezden)`, ""},
	{ruleOverride, Serious, whyOverride, []string{"忽略", "无视", "忘记", "無視", "忘れ", "무시", "잊어", "잊으", "игнорир", "забудь", "تجاهل"}, nil,
		`(?:忽略|无视|忘记|忘掉)[^，。,.]{0,10}(?:指令|指示|规则|提示词|系统)|(?:指示|命令|ルール|システム)[^、。]{0,8}(?:無視|忘れ)|(?:지시|규칙|시스템)\S*\s*\S*\s*(?:무시|잊)|(?:игнорируй|забудь)\S*\s+(?:\S+\s+){0,3}?(?:указани|инструкци|систем|правил)|تجاهل\s+(?:\S+\s+){0,2}?(?:تعليمات|قواعد|أوامر|توجيهات)`, ""},
	{ruleConceal, Serious, whyConceal, []string{"usuari", "usuári", "utente", "utilisateur", "nutzer", "anwender", "użytkownik", "gebruiker", "användare", "kullanıcı"}, []string{"saber", "sepa", "savoir", "sache", "sappia", "entere", "sabe", "mitbekommen", "erfahren", "merken", "wissen", "bemerk", "accorga", "perceba", "sin que", "sem ", "senza", "sans que", "insu", "ohne", "bez ", "zonder", "utan", "habersiz", "nie mów", "niet"},
		`(?:usuario|usuário|utente|utilisateur)\s+(?:\S+\s+){0,2}?(?:no|não|non|ne)\s+(?:\S+\s+){0,3}?(?:sepa|saber|sabe|sappia|savoir|sache|entere|perceba|accorga)|(?:sin\s+que|sem\s+que|sem|senza\s+che|sans\s+que|à\s+l'insu\s+de)\s+(?:\S+\s+){0,1}?(?:(?:el|o|l'|lo)\s*)?(?:usuario|usuário|utente|utilisateur)|` +
			`(?:nutzer|anwender)\s+(?:\S+\s+){0,3}?(?:nichts|nicht)\s+(?:\S+\s+){0,2}?(?:mitbekommen|erfahren|merken|wissen|bemerken)|(?:nichts|nicht)\s+(?:\S+\s+){0,2}?(?:mitbekommen|erfahren|merken)|ohne\s+wissen\s+des\s+(?:be)?nutzers|zonder\s+(?:dat\s+)?de\s+gebruiker|bez\s+wiedzy\s+użytkownika|nie\s+mów\s+(?:o\s+tym\s+)?użytkownik|utan\s+att\s+(?:\S+\s+){0,2}?användaren|kullanıcının\s+haberi\s+olmadan`, ""},
	{ruleConceal, Serious, whyConceal, []string{"скро", "скрыва", "утаи", "без ведома", "пользовател", "提及", "用户", "気づか", "知られ", "内緒", "모르", "المستخدم"}, nil,
		`(?:скрой|скрывай|утаи)\S*\s+(?:\S+\s+){0,3}?пользовател|без\s+ведома\s+пользовател|пользовател\S*\s+(?:\S+\s+){0,2}?не\s+(?:\S+\s+){0,2}?(?:узна|зна|замети)|不(?:要|得|能|可|必)(?:向用户|对用户)?(?:提及|提到|透露)|(?:不让|别让|勿让|不要让|瞒着)用户|(?:ユーザー?|利用者)に(?:気づ|知ら)(?:か)?れ(?:ない|ず)|内緒で|사용자(?:가|는|도)?\s*(?:모르게|모르도록|알지)|(?:دون|بدون)\s+علم\s+المستخدم|دون\s+إخبار\s+المستخدم`, ""},
}
