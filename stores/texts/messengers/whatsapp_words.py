"""What WhatsApp itself writes into an export in the place of what a person sent, in the languages of its exports.

Endings, articles and cases differ with the kind of media; beginnings of words are enough, since they are looked for
only where WhatsApp alone writes: between angle brackets, after a mark of direction, behind the name of a file.
"""

import re

OMITTED = re.compile(
    r"omi[tst]|omes[sa]|ausge(?:schlossen|lassen)|weggela[st]|absent|oculta|não incluí|не включ|без медиа|отсутств"
    r"|пропущ"
    r"|dahil edil|pomini|vynech|wyłącz|tidak disertakan|dikecualikan|utelä|udela|utelat|ei sisälly|kihagy|omis"
    r"|忽略|省略|未包含|제외|생략|含まれ|除外|استبعاد|محذوف|مستبعد"
    r"|ضمیمه نشد|حذف شد|लोप|शामिल नहीं|הושמט|לא נכלל|ละเว้น|bị bỏ",
    re.IGNORECASE,
)
"""Media that were left out of an export."""
ATTACHED = re.compile(
    r"attach|angehängt|anhang|adjunt|joint|allega|anexad|bijgevoegd|прикреп|добавлен|вложен|ekli|ekle|załącz|přilož"
    r"|terlampir|lampir|bifoga|vedhæft|vedlag|liitet|csatol"
    r"|附件|附加|첨부|添付|مرفق|إرفاق|پیوست|ضمیمه|संलग्न|מצורף|แนบ|đính kèm",
    re.IGNORECASE,
)
"""Media that lie beside an export."""
EDITED = re.compile(
    r"edit|bearbeitet|modifi|bewerkt|измен|düzenlen|edytow|upraven|redig|muokat|szerkeszt|diubah|编辑|編輯|수정|편집|編集"
    r"|تعديل|ویرایش|संपादित|נערכה|แก้ไข|chỉnh sửa",
    re.IGNORECASE,
)
MEDIA = re.compile(
    r"\b(?:m[eé]dias?|medien|multimedia|m[íi]dia|медиа\w*|medya|multimédi\w*|multimedi\w*)\b"
    r"|多媒体|多媒體|媒体|媒體|미디어|メディア|وسائط|رسانه|मीडिया|מדיה|สื่อ|phương tiện",
    re.IGNORECASE,
)
CALL = re.compile(
    r"\bcall|anruf|appel|llamada|chiamata|chamada|ligação|gesprek|oproep|звонок|вызов|arama|połączen|hovor|panggilan"
    r"|samtal|opkald|puhelu|hívás|通话|通話|语音来电|전화|통화|着信|مكالمة|تماس|कॉल|שיחה|สาย|cuộc gọi",
    re.IGNORECASE,
)
POLL = re.compile(
    r"(?:poll|umfrage|sondage|encuesta|sondaggio|enquete|peiling|опрос|anket|ankieta|anketa|polling|omröstning|afstemning"
    r"|kysely|szavazás|投票|투표|アンケート|تصويت|نظرسنجی|पोल|סקר|โพล|cuộc thăm dò)[:：]",
    re.IGNORECASE,
)
PLACE = re.compile(
    r"[^\n:：]{0,40}[:：] ?https?://(?:maps\.|(?:www\.)?google\.[a-z.]{2,6}/maps|(?:www\.)?foursquare\.)\S+"
)
DELETED = frozenset(
    {
        "this message was deleted", "you deleted this message", "this message was deleted by admin",
        "diese nachricht wurde gelöscht", "du hast diese nachricht gelöscht",
        "ce message a été supprimé", "vous avez supprimé ce message", "message supprimé",
        "se eliminó este mensaje", "eliminaste este mensaje", "este mensaje fue eliminado", "mensaje eliminado",
        "questo messaggio è stato eliminato", "hai eliminato questo messaggio",
        "mensagem apagada", "você apagou esta mensagem", "esta mensagem foi apagada", "apagou esta mensagem",
        "dit bericht is verwijderd", "dit bericht werd verwijderd", "u hebt dit bericht verwijderd",
        "je hebt dit bericht verwijderd",
        "данное сообщение удалено", "это сообщение было удалено", "сообщение удалено", "вы удалили данное сообщение",
        "вы удалили это сообщение",
        "bu mesaj silindi", "bu mesajı sildiniz", "usunięto tę wiadomość", "ta wiadomość została usunięta",
        "pesan ini telah dihapus", "anda menghapus pesan ini", "tato zpráva byla smazána",
        "detta meddelande togs bort", "denne besked blev slettet", "tämä viesti poistettiin",
        "此消息已被删除", "您删除了这条消息", "你已删除这条消息", "此消息已删除",
        "此訊息已刪除", "您已刪除此訊息", "你已刪除此訊息",
        "삭제된 메시지입니다", "이 메시지는 삭제되었습니다", "삭제한 메시지입니다", "메시지를 삭제했습니다",
        "このメッセージは削除されました", "メッセージを削除しました",
        "تم حذف هذه الرسالة", "لقد حذفت هذه الرسالة", "حذفت هذه الرسالة",
        "این پیام حذف شد", "شما این پیام را حذف کردید",
        "यह मैसेज डिलीट किया गया", "आपने यह मैसेज मिटाया", "הודעה זו נמחקה", "מחקת הודעה זו", "ข้อความนี้ถูกลบแล้ว",
        "tin nhắn này đã bị xóa",
    }
)  # fmt: skip
"""Whole messages, without a full stop."""
WAITING = frozenset(
    {
        "waiting for this message. this may take a while", "waiting for this message",
        "warten auf diese nachricht. dies könnte etwas dauern", "en attente de ce message. cela peut prendre du temps",
        "esperando este mensaje. esto puede tomar tiempo", "missed voice call", "missed video call",
        "missed group voice call", "missed group video call", "verpasster sprachanruf", "verpasster videoanruf",
    }
)  # fmt: skip
"""Whole messages in which nobody says anything."""
