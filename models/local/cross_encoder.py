"""A cross-encoder: how relevant a passage is to a question, read together."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dramaturg.models.environment import environment
from dramaturg.models.errors import WeightsError
from dramaturg.models.local.weights import find
from dramaturg.models.reading import encodable

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

NAME = "ms-marco-minilm"
PAIRS_A_BATCH = 16
MAX_TOKENS = 512  # positions of the model; a longer passage is cut at its end


class CrossEncoder:
    """Scores pairs of question and passage. It was trained on web queries in English (MS MARCO).

    Scores are logits: they put the passages of one question in order, and 0 is no calibrated threshold.
    """

    def __init__(self, session: "InferenceSession", tokenizer: "Tokenizer") -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._inputs = [given.name for given in session.get_inputs()]

    def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        """Give the logit of each passage, in order: the higher, the more relevant to the question."""
        pairs = [(encodable(question), encodable(passage)) for passage in passages]
        # Pairs of about one length go together, since all of a batch are padded to the longest.
        order = sorted(range(len(pairs)), key=lambda n: len(pairs[n][1]))
        logits = [0.0] * len(pairs)
        for start in range(0, len(order), PAIRS_A_BATCH):
            batch = order[start : start + PAIRS_A_BATCH]
            for n, logit in zip(batch, self._logits([pairs[n] for n in batch]), strict=True):
                logits[n] = logit
        return logits

    def _logits(self, pairs: Sequence[tuple[str, str]]) -> Iterator[float]:
        encoded = self._tokenizer.encode_batch(pairs)
        columns = {
            "input_ids": [one.ids for one in encoded],
            "attention_mask": [one.attention_mask for one in encoded],
            "token_type_ids": [one.type_ids for one in encoded],
        }
        feed = {name: np.array(columns[name], np.int64) for name in self._inputs}
        return map(float, self._session.run(None, feed)[0].ravel())


_loaded: dict[tuple[tuple[Path, ...], int | None], CrossEncoder] = {}
_lock = threading.Lock()


def cross_encoder() -> CrossEncoder:
    """Load the cross-encoder, or give the one that this process has; safe to use from several threads."""
    surroundings = environment()
    key = (surroundings.weights_in, surroundings.threads)
    with _lock:
        if key not in _loaded:
            _loaded[key] = _load(*key)
        return _loaded[key]


def _load(caches: tuple[Path, ...], threads: int | None) -> CrossEncoder:
    try:
        from onnxruntime import InferenceSession, SessionOptions
        from tokenizers import Tokenizer
    except ImportError as error:
        msg = "The cross-encoder needs onnxruntime and tokenizers: run `pip install 'dramaturg[rerank]'`."
        raise WeightsError(msg) from error
    folder = find(NAME, *caches)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS, strategy="longest_first")
    tokenizer.enable_padding()
    options = SessionOptions()
    options.intra_op_num_threads = threads or 0
    return CrossEncoder(InferenceSession(str(folder / "model.onnx"), options), tokenizer)
