"""The splitters of persona documents behind LangChain's interface."""

from copy import deepcopy
from functools import partial
from typing import Any

from langchain_core.documents import Document
from langchain_text_splitters import TextSplitter

from dramaturg.nodes.text.boundaries import Unit, ruler
from dramaturg.nodes.text.splitter import Method, Passage, split_document


class PersonaTextSplitter(TextSplitter):
    """`split_document` as a LangChain text splitter; parameters are those of `split_document`.

    Documents carry `headings` (outermost first), `start` and `end` (offsets into the document) in their metadata.

    Raises:
        ValueError: as `split_document` does.
    """

    def __init__(
        self,
        *,
        method: Method = "acts",
        unit: Unit = "characters",
        longest: int | None = None,
        fixed_length: int = 1000,
        fixed_overlap: int = 100,
    ) -> None:
        self._split = partial(
            split_document,
            method=method,
            unit=unit,
            longest=longest,
            fixed_length=fixed_length,
            fixed_overlap=fixed_overlap,
        )
        self._split("")  # settings are checked now, not when the first document comes
        super().__init__(fixed_length, fixed_overlap, lambda text: ruler(text, unit).length(0, len(text)))

    def passages(self, text: str) -> list[Passage]:
        """Split a document into passages."""
        return self._split(text)

    def split_text(self, text: str) -> list[str]:
        """Split a document into the texts of its passages."""
        return [passage.text for passage in self.passages(text)]

    def create_documents(self, texts: list[str], metadatas: list[dict[Any, Any]] | None = None) -> list[Document]:
        """Split documents; each passage gets a copy of its document's metadata, and where it stands."""
        # The base class would search for the text to find its offset; here it is known.
        known = metadatas or [{} for _ in texts]
        return [
            _document(passage, metadata)
            for text, metadata in zip(texts, known, strict=True)
            for passage in self.passages(text)
        ]


def _document(passage: Passage, metadata: dict[Any, Any]) -> Document:
    place = {"headings": passage.headings, "start": passage.start, "end": passage.end}
    return Document(page_content=passage.text, metadata={**deepcopy(metadata), **place})
