"""The polite words that surround requests, by language.

Training texts are names, descriptions and interface strings: terse. People ask
in whole sentences. Phrases put in at random teach the rows of such words to
weigh little, so that "could you please" does not pull a request towards tools
that happen to speak of pleasing. Order does not matter to a sum of rows, so a
phrase may stand for what comes before or after the request.

To add a language, add a line: its code is the one the corpus uses.
"""

from __future__ import annotations

PHRASES: dict[str, str] = {
    "en": "please|can you|could you please|i want to|i need to|i would like to|how do i|how can i|help me|show me how to|i'm looking for a way to|what is the best way to|can i|let's|is there a tool to|for me",
    "fr": "s'il te plaît|peux-tu|je veux|je voudrais|comment|aide-moi à|est-ce que tu peux|j'ai besoin de|pour moi",
    "de": "bitte|kannst du|ich möchte|ich will|wie kann ich|hilf mir|ich brauche|für mich|könntest du",
    "es": "por favor|puedes|quiero|quisiera|cómo puedo|ayúdame a|necesito|para mí|me gustaría",
    "it": "per favore|puoi|voglio|vorrei|come posso|aiutami a|ho bisogno di|mi serve",
    "pt": "por favor|você pode|quero|eu gostaria de|como posso|me ajude a|preciso|podes",
    "nl": "alsjeblieft|kun je|ik wil|ik wil graag|hoe kan ik|help me|ik moet|voor mij",
    "pl": "proszę|czy możesz|chcę|chciałbym|jak mogę|pomóż mi|potrzebuję",
    "cs": "prosím|můžeš|chci|chtěl bych|jak mohu|pomoz mi|potřebuji",
    "ru": "пожалуйста|можешь|я хочу|мне нужно|как мне|помоги мне|хотел бы|можно ли",
    "uk": "будь ласка|можеш|я хочу|мені потрібно|як мені|допоможи мені",
    "tr": "lütfen|yapabilir misin|istiyorum|nasıl|bana yardım et|ihtiyacım var",
    "ar": "من فضلك|هل يمكنك|أريد|أريد أن|كيف يمكنني|ساعدني|أحتاج إلى",
    "he": "בבקשה|אתה יכול|אני רוצה|איך אני יכול|עזור לי|אני צריך",
    "fa": "لطفا|می‌توانی|می‌خواهم|چگونه|به من کمک کن|نیاز دارم",
    "hi": "कृपया|क्या आप|मैं चाहता हूँ|मुझे चाहिए|कैसे|मेरी मदद करें",
    "zh": "请|帮我|我想|我需要|怎么|如何|能不能|请帮我|可以吗|一下|我要",
    "zh-tw": "請|幫我|我想|我需要|怎麼|如何|可以嗎|一下|我要",
    "ja": "してください|お願いします|したい|どうすれば|方法|教えて|を手伝って|してほしい|したいです",
    "ko": "해줘|해 주세요|알려줘|하고 싶어|어떻게|도와줘|부탁해|필요해",
    "vi": "làm ơn|bạn có thể|tôi muốn|tôi cần|làm thế nào để|giúp tôi|cho tôi",
    "th": "กรุณา|ช่วย|ฉันต้องการ|อยากจะ|อย่างไร|ได้ไหม|ให้หน่อย",
    "id": "tolong|bisakah kamu|saya ingin|saya mau|bagaimana cara|bantu saya|saya perlu",
    "sv": "snälla|kan du|jag vill|jag skulle vilja|hur kan jag|hjälp mig|jag behöver",
    "fi": "ole hyvä|voitko|haluan|haluaisin|miten voin|auta minua|tarvitsen",
    "el": "παρακαλώ|μπορείς να|θέλω να|θα ήθελα|πώς μπορώ|βοήθησέ με|χρειάζομαι",
    "ro": "te rog|poți|vreau să|aș dori|cum pot|ajută-mă să|am nevoie",
    "hu": "kérlek|tudnál|szeretnék|akarok|hogyan tudok|segíts|szükségem van",
    "da": "venligst|kan du|jeg vil gerne|hvordan kan jeg|hjælp mig",
    "no": "vær så snill|kan du|jeg vil|hvordan kan jeg|hjelp meg",
    "bg": "моля|можеш ли|искам да|как мога|помогни ми",
}


def phrases(language: str) -> list[str]:
    """The phrases of a language; none where it has no line."""
    return [p for p in PHRASES.get(language, "").split("|") if p]
