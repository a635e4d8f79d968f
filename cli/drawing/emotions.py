"""`dramaturg emotions`: the mood of a text, and the memories that it brings back, as tables or on a wheel."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from dramaturg.cli.drawing.lettering import MISSING, PictureText
from dramaturg.cli.drawing.wheel import (
    FAINT,
    HEIGHT,
    INK,
    SIDE,
    colours,
    draw_moods,
    draw_sectors,
    number_style,
    strongest,
)
from dramaturg.cli.evidence.memories import memory_views
from dramaturg.cli.library.indexing import indexed
from dramaturg.cli.options import (
    EMOTIONAL_RAG,
    JsonOption,
    LibraryOption,
    ModelOption,
    RoleArgument,
    SettingsOption,
    StrategyOption,
    context_for,
)
from dramaturg.cli.output import note, picture_format, print_json, screen, write_whole
from dramaturg.evaluation.metrics.figures import new_figure
from dramaturg.nodes.run import RoleContext
from dramaturg.workflows.emotional_recall import build

REFUSAL = "A wheel of emotions cannot be written"
DRAWN = 20
"""How many memories are drawn; more lines than these are a tangle."""
SCORE = 0.29
"""How far apart two rings are, in inches, as all that follows."""
WIDTH, MARGIN, LEGEND, INDENT = 12.5, 0.35, 7.7, 0.32
TITLE_LINE, LINE, GAP = 0.27, 0.19, 0.12


def emotions(
    role: RoleArgument,
    text: Annotated[str, typer.Argument(help="A message to the role.", show_default=False)],
    plot: Annotated[Path | None, typer.Option(help="Draw the wheel of emotions into this file.")] = None,
    strategy: StrategyOption = "",
    model: ModelOption = "auto",
    library: LibraryOption = None,
    settings: SettingsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the mood of a text and the memories that it recalls. The role neither answers nor remembers the text."""
    if not text.strip():
        raise ValueError("There is no text to look into: give a sentence.")
    if plot is not None:
        picture_format(plot, REFUSAL)  # what cannot be drawn is noticed before the work
        new_figure()
    context = context_for(EMOTIONAL_RAG, role, library, settings, chat_model=model, strategy=strategy)
    evidence = asyncio.run(recalled(context, text.strip()))
    if plot is not None:
        scores = {name: felt["score"] for name, felt in (evidence.get("mood", {}).get("emotions") or {}).items()}
        spokes = [Spoke(one["text"], one["emotions"], one["score"]) for one in evidence["memories"]]
        draw_wheel(scores or None, spokes, plot, title=f"{text.strip()} ({evidence['strategy']})")
        note(f"Wrote {plot}.")
    if as_json:
        print_json({"text": text, "evidence": evidence})
    elif plot is None:
        screen.print(*memory_views(evidence), sep="\n")


class Spoke(NamedTuple):
    """A recalled memory: its text, its score of each emotion where they are known, and its fused distance."""

    text: str
    emotions: Mapping[str, int] | None
    score: float


class EmotionRow(NamedTuple):
    """An entry of the legend: its colour, its number (none for the question), its text, and a note below."""

    colour: str
    number: str
    lines: list[str]
    note: str


async def recalled(context: RoleContext, text: str) -> dict[str, Any]:
    """The evidence of recall, after the role was indexed if it was not."""
    await indexed(context, EMOTIONAL_RAG)
    graph: Any = build().compile()
    return dict((await graph.ainvoke({"question": text}, context=context))["evidence"])


def draw_wheel(mood: Mapping[str, int] | None, memories: Sequence[Spoke], path: Path, *, title: str) -> None:
    """Draw a question's mood and the memories that it recalled, scores 1 to 10, as what the file's suffix says.

    Raises:
        ValueError: the suffix is none of .png, .svg and .pdf, or the folder is not there.
        RuntimeError: matplotlib is not installed.
        StorageError: the file system refuses.
    """
    write_whole(path, picture(mood, memories, title, picture_format(path, REFUSAL)))


def picture(mood: Mapping[str, int] | None, memories: Sequence[Spoke], title: str, form: str) -> bytes:
    """The picture in one of the formats, as high as its title and its legend need."""
    figure = new_figure()
    figure.set_layout_engine("none")
    draw(figure, mood, memories, title)
    file = BytesIO()
    figure.savefig(file, format=form)
    return file.getvalue()


def draw(figure: Any, mood: Mapping[str, int] | None, memories: Sequence[Spoke], title: str) -> None:
    """Draw the title, below it the wheel, and the legend beside that."""
    shown = memories[:DRAWN]
    text = PictureText([title, *(memory.text for memory in shown)])
    heading = text.lines(title, size=14, width=WIDTH - 2 * MARGIN, most=3)
    rows = list(legend_rows(mood, memories, text))
    if any(MISSING in line for lines in (heading, *(row.lines for row in rows)) for line in lines):
        rows.append(EmotionRow("", "", [], f"{MISSING} stands for a letter that no installed font has."))
    above = MARGIN + TITLE_LINE * len(heading) + MARGIN
    wide, high = 2 * SIDE * SCORE, 2 * HEIGHT * SCORE
    height = above + max(high, sum(map(row_height, rows))) + MARGIN
    figure.set_size_inches(WIDTH, height)
    write(figure, (MARGIN, height - MARGIN), heading, text.families, fontsize=14, linespacing=1.15)
    axes = figure.add_axes((MARGIN / WIDTH, (height - above - high) / height, wide / WIDTH, high / height))
    draw_sectors(axes)
    draw_moods(axes, mood, [memory.emotions for memory in shown])
    draw_legend(figure, rows, height - above, text.families)


def legend_rows(mood: Mapping[str, int] | None, memories: Sequence[Spoke], text: PictureText) -> Iterable[EmotionRow]:
    """What the legend says: of the question, of each memory, and of what is not drawn."""
    yield EmotionRow(INK if mood else "", "", ["Mood of the question"], strongest(mood) if mood else "mood unknown")
    if not memories:
        yield EmotionRow("", "", [], "No memory was recalled.")
    shown = memories[:DRAWN]
    colour = colours([memory.emotions for memory in shown])
    for at, memory in enumerate(shown):
        lines = text.lines(memory.text, size=9.5, width=WIDTH - LEGEND - INDENT - MARGIN, most=2)
        feeling = strongest(memory.emotions) if memory.emotions else "mood unknown"
        yield EmotionRow(colour[at], str(at + 1), lines, f"distance {memory.score:.3f} · {feeling}")
    if len(memories) > DRAWN:
        yield EmotionRow("", "", [], f"… and {len(memories) - DRAWN} more, which are not drawn.")


def row_height(row: EmotionRow) -> float:
    """How high an entry of the legend is."""
    return LINE * (len(row.lines) + 1) + GAP


def draw_legend(figure: Any, rows: Iterable[EmotionRow], top: float, families: Sequence[str]) -> None:
    """Write the legend's entries one below the other."""
    for row in rows:
        draw_sign(figure, row, top - LINE / 2)
        write(figure, (LEGEND + INDENT, top), row.lines, families, fontsize=9.5)
        below = top - LINE * len(row.lines)
        write(figure, (LEGEND + INDENT, below), [row.note], families, fontsize=8.5, color=FAINT)
        top -= row_height(row)


def draw_sign(figure: Any, row: EmotionRow, y: float) -> None:
    """Draw what an entry is on the wheel: the disc with the memory's number, or the bold line of the question."""
    from matplotlib.lines import Line2D

    inches = {"transform": figure.dpi_scale_trans}
    if row.number:
        disc: dict[str, Any] = {"marker": "o", "markersize": 13, "markeredgecolor": "white"}
        figure.add_artist(Line2D([LEGEND], [y], color=row.colour, **disc, **inches))
        figure.text(LEGEND, y, row.number, **number_style(row.number), **inches)
    elif row.colour:
        figure.add_artist(Line2D([LEGEND - 0.13, LEGEND + 0.13], [y, y], color=row.colour, linewidth=3.2, **inches))


def write(figure: Any, at: tuple[float, float], lines: Sequence[str], families: Sequence[str], **style: Any) -> None:
    """Write lines below a place, as they are: no dollar sign begins a formula."""
    style = {"color": INK, "linespacing": 1.25, "va": "top", "transform": figure.dpi_scale_trans, **style}
    figure.text(*at, "\n".join(lines), parse_math=False, fontfamily=list(families), **style)
