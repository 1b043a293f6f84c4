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
}
