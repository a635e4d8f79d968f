"""What tells who speaks, by language: verbs of speech, titles, pronouns, and words that are nobody's name."""

from typing import Literal

Gender = Literal["f", "m", ""]


def _words(table: str) -> list[str]:
    return table.split()


SPEECH_EN = frozenset(
    _words("""
    said says say cried cries exclaimed exclaims replied replies answered answers asked asks inquired enquired returned
    remarked observed continued added whispered murmured muttered shouted called yelled screamed shrieked gasped
    groaned sighed sobbed laughed demanded declared repeated began resumed rejoined retorted responded suggested
    explained interrupted interposed protested insisted agreed admitted confessed announced ejaculated stammered
    growled snarled snapped grunted pleaded begged implored urged ordered commanded warned proposed pursued proceeded
    concluded commented queried questioned wondered thought mused reflected breathed hissed roared bawled bellowed
    faltered echoed assented acknowledged affirmed assured corrected countered went told tells speaking spoke
    squeaked squealed piped croaked drawled chuckled giggled sneered scoffed mumbled sang read wrote quoted reasoned
    ventured volunteered objected apologised apologized complained grumbled moaned wailed whimpered persisted broke
    put hazarded cautioned advised promised recited informed finished lied joked teased reminded
    smiled nodded panted rapped thundered stuttered threatened vociferated blurted burst chimed hinted
    """)
)
"""Forms of verbs that stand next to what is said: what nobody else does with words, and a few that need their quote."""
WEAK_EN = frozenset(
    _words("went put broke read sang wrote began smiled nodded laughed burst told thought speaking wondered called")
)
"""Those that are of other doings as often."""
ADVERBS_EN = frozenset(
    _words("""
    had has have then only also at once again now still never always just would could did again soon first last next
    quickly half thus here there too even ever almost often at length last in turn all more very ever
    """)
)
"""Words that stand between who speaks and the verb, beside those on -ly."""
TITLES_EN: dict[str, Gender] = {
    **dict.fromkeys(_words("mr mister sir lord uncle father brother count duke king prince baron"), "m"),
    **dict.fromkeys(_words("master monsieur"), "m"),
    **dict.fromkeys(_words("mrs miss ms lady aunt mother sister countess duchess queen princess"), "f"),
    **dict.fromkeys(_words("madame madam dame"), "f"),
    **dict.fromkeys(_words("dr doctor captain colonel major general professor rev reverend judge"), ""),
    **dict.fromkeys(_words("inspector lieutenant sergeant cousin old young dear poor little"), ""),
}
RELATIVES_EN: dict[str, Gender] = {
    **dict.fromkeys(_words("man boy gentleman husband son nephew fellow lad king prince waiter butler footman"), "m"),
    **dict.fromkeys(_words("father brother uncle grandfather priest"), "m"),
    **dict.fromkeys(
        _words("woman girl lady wife daughter niece landlady queen princess maid nurse widow hostess"), "f"
    ),
    **dict.fromkeys(_words("mother sister aunt grandmother housekeeper governess matron"), "f"),
}
"""What somebody is called without a name, and whether that is a woman."""
ANYBODY_EN = frozenset(_words("man boy gentleman lad fellow youth woman girl lady stranger"))
"""What somebody is called who may well have a name: it means whoever was named last, as a pronoun does."""
PRONOUNS_EN: dict[str, Gender] = {"he": "m", "she": "f"}
NO_NAMES_EN = frozenset(
    _words("""
    i i'm i've i'll i'd he she it they we you his her their our your my its the a an this that these those there here
    who what when where why how which and but or nor for so yet if then as at by in of on to with from after before
    while though although because since until not no yes oh ah well now never nothing nobody somebody everybody
    everyone someone one two three all both each some any such said god lord sir madam heaven heavens chapter book part
    monday tuesday wednesday thursday friday saturday sunday january february july
    september october november december english french german american christmas easter mr mrs miss ms dr
    good let do don't come go look see please perhaps indeed only just my dear hallo hello
    """)
)
BREAKS_EN = frozenset(
    _words("""
    of with in to who whom whose as and at when from on but while for by after before over under into upon without
    through across behind beside beneath above about again at once then suddenly aloud softly gently too still also
    that which was were had has is are did does would could should might must turning looking taking holding shaking
    rising smiling laughing sitting standing coming going addressing
    """)
)
"""Words with which a description of somebody has ended."""
BEFORE_OBJECT_EN = frozenset(
    _words("""
    to at of with by from for on upon toward towards about near behind beside against before after in into over past
    like than told asked saw heard met found left and
    """)
)
"""Words before a name that make it somebody who is not the one that does something."""
NICKNAMES_EN = tuple(
    tuple(line.split())
    for line in """
    elizabeth lizzy lizzie eliza beth bess bessie betty betsy libby
    thomas tom tommy
    james jim jimmy jem
    william will bill billy willie
    john jack johnny
    robert bob bobby rob bert
    richard dick rick
    edward ned ted eddie
    charles charley charlie
    henry harry hal
    margaret maggie meg peggy madge
    catherine katherine kate kitty cathy catharine
    mary molly polly
    george georgie
    joseph joe joey
    samuel sam sammy
    frederick fred freddy
    benjamin ben
    anthony tony
    andrew andy
    alexander alec alick sandy
    philip phil pip
    susan sue susy
    charlotte lottie
    lucy luce
    matthew matt
    michael mick mike
    nicholas nick
    daniel dan danny
    david davy
    dorothy dolly dora
    eleanor nell nelly ellen
    florence flora flossie
    caroline carrie
    sarah sally
    jane jenny
    """.strip().splitlines()
)
"""Names that are one name; the first is the long one."""

SPEECH_ZH = _words(
    """
    回答道 回答说 笑道 说道 问道 答道 叫道 喊道 骂道 叹道 哭道 喝道 怒道 冷笑道 忙道 嚷道 劝道 哼道 道 说 问
    答 喊 叫 嚷 骂 叹 回答 喃喃 低语 开口 补充 解释 追问 反问 吩咐 嘀咕 嘟囔 插嘴 应道 应 宣布 吼
    """
)
HOW_ZH = _words(
    """
    冷冷地 轻轻地 慢慢地 大声地 低声地 轻声地 连忙 急忙 赶紧 赶忙 忽然 突然 接着 继续 终于 大声 低声 小声
    轻声 高声 冷笑 苦笑 微笑 笑着 哭着 点头 摇头 回头 叹气 这才 便 就 又 也 才 忙 笑 冷 再 都 只 却 还 先 因
    乃 遂 即 答 问 叹 哭 怒 含笑 含泪 着 了 地 不禁 一边 淡淡 急 嗔 听了 听 听说 起身 上前 抬头 低头 悄悄
    """
)
"""What stands between who speaks and the verb."""
TO_ZH = "对向跟和与朝给同叫把被"
"""Signs before a name that make it somebody who is spoken to."""
SURNAMES_ZH = (
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜戚谢邹喻柏窦章云苏潘葛奚范彭郎鲁韦昌"
    "马苗凤花方俞任袁柳鲍史唐费廉岑薛雷贺倪汤滕殷罗毕郝邬安常乐于时傅皮卞齐康伍余元卜顾孟平黄和穆萧尹姚邵"
    "湛汪祁毛禹狄米贝明臧计伏成戴宋茅庞熊纪舒屈项祝董梁杜阮蓝闵席季麻强贾路娄危江童颜郭梅盛林刁钟徐邱骆高"
    "夏蔡田樊胡凌霍虞万支柯管卢莫房裘解应宗丁宣邓郁单杭洪包左石崔吉龚程邢裴陆荣翁荀羊惠甄曲家封芮靳汲段富"
    "巫乌焦巴弓牧山谷车侯班仰秋仲伊宫宁仇栾甘武符刘景詹束龙叶幸司黎蓟薄印白蒲邰从鄂索咸籍赖卓蔺屠蒙池乔阴"
    "闻莘党翟谭贡姬申扶堵冉宰雍桑桂牛寿边扈燕冀浦尚农温别庄晏柴瞿阎慕连茹习宦艾鱼容向古易慎戈廖终居衡步都"
    "耿满弘匡国文寇广东欧利师巩聂晁勾敖融冷辛阚那简饶曾沙鞠关查游权盖岳帅海"
)
CALLED_ZH: dict[str, Gender] = {
    **dict.fromkeys(
        _words("先生 公子 少爷 老爷 大爷 爷 哥哥 大哥 哥 弟弟 弟 叔叔 叔 伯伯 伯 爷爷 父亲 爸爸 老头"), "m"
    ),
    **dict.fromkeys(_words("小姐 姑娘 夫人 太太 奶奶 妹妹 姐姐 妹 姐 嫂 婆婆 阿姨 姨 婶 母亲 妈妈 女士 老太太"), "f"),
    **dict.fromkeys(_words("老师 医生 掌柜 队长 师傅 老板 大夫 将军 大人 船长"), ""),
}
PRONOUNS_ZH: dict[str, Gender] = {"他": "m", "她": "f"}
NO_NAMES_ZH = frozenset(
    _words(
        """
        我们 你们 他们 她们 咱们 大家 众人 自己 有人 那人 这人 一个 这个 那个 什么 怎么 一声 一句 心里 心中 嘴里
        口中 于是 然后 可是 但是 所以 因为 只见 只听 听见 看见 半天 一面 一边 对方 两人 二人 人家 别人 忽然 这时
        那时 后来 不禁 如此 知道 难
        """
    )
)

SPEECH_KO = frozenset(
    _words("""
    말했다 말하였다 말한다 말하며 말하고 말했고 말하자 물었다 묻는다 물으며 물었고 묻자 대답했다 대답하였다 대답한다
    대답하며 답했다 외쳤다 외치며 소리쳤다 소리질렀다 중얼거렸다 속삭였다 덧붙였다 되물었다 투덜거렸다 웃었다 웃으며
    이었다 열었다 설명했다 부탁했다 명령했다 질렀다 끼어들었다 대꾸했다 반문했다 했다 하였다 한다
    말했습니다 물었습니다 대답했습니다 외쳤습니다 속삭였습니다
    """)
)
"""Ends of sentences about speech, also of those with a noun: 말을 이었다, 입을 열었다, 소리를 질렀다."""
SUBJECT_KO = ("이가", "께서", "이는", "이", "가", "은", "는", "도")
"""Particles of who does something; the longest first."""
OBJECT_KO = ("에게", "한테", "께", "보고", "더러", "와", "과", "의", "을", "를")
SURNAMES_KO = (
    "김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민나진지엄채"
    "원천방공현함변염여추도소석선설마길연위표명기반왕금옥육인맹제모탁국어은편용"
)
CALLED_KO: dict[str, Gender] = {
    **dict.fromkeys(_words("아버지 할아버지 아저씨 오빠 형 삼촌 남자 소년 청년 노인 신사"), "m"),
    **dict.fromkeys(_words("어머니 엄마 할머니 아주머니 아줌마 언니 누나 이모 고모 여자 소녀 부인 아가씨"), "f"),
    **dict.fromkeys(_words("선생님 선생 의사 선장 대장 사장 부장 주인 기사 경찰 군 양 씨 님 장군 대감"), ""),
}
PRONOUNS_KO: dict[str, Gender] = {"그": "m", "그녀": "f"}
NO_NAMES_KO = frozenset(
    _words(
        """
        나 내 너 네 우리 저 제 그들 누구 누가 사람 사람들 모두 자신 그것 이것 저것 아무 무엇 뭐 그리고 그러나
        하지만 그러자 목소리 소리 얼굴 고개 눈 입 손 말 마음 자기 하나 둘 이번 다음 오늘 지금 때 것
        """
    )
)
NARRATOR: dict[str, str] = {"en": "Narrator", "zh": "叙述者", "ko": "화자"}
"""Who says "I" in the narration, where no name is found."""
FIRST_PERSON: dict[str, frozenset[str]] = {
    "en": frozenset({"i"}),
    "zh": frozenset({"我"}),
    "ko": frozenset({"나", "내", "저", "제"}),
}
