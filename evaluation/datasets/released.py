"""The files of datasets as their authors released them, by one commit each: size and SHA-256, line by line."""

# ruff: noqa: E501 (a line of digests is a line)

from collections.abc import Mapping
from typing import NamedTuple


class DatasetFile(NamedTuple):
    """A file; `path` is where it lies in the folder of the dataset."""

    sha256: str
    size: int
    path: str


class Release(NamedTuple):
    """Where files are on GitHub, at which commit, and in which folder of the repository, with a slash at its end."""

    repository: str
    commit: str
    folder: str
    files: tuple[DatasetFile, ...]


def _files(lines: str) -> tuple[DatasetFile, ...]:
    parts = (line.split(maxsplit=2) for line in lines.strip().split("\n"))
    return tuple(DatasetFile(digest, int(size), path) for digest, size, path in parts)


RELEASES: Mapping[str, Release] = {
    "charactereval": Release(
        "morecry/CharacterEval",
        "fa232e6a9c3ec5d074240333fbffdf015b79533f",
        "data/",
        _files("""
6d9723a1484f1d2739bcf388c7960abe1933b7a5a1fddae0170cc9ea7c66dcd8 3458303 test_data.jsonl
d9b4c9f7ab63b89b3c348ae88b43c87872f0f6a5cb06d7f31cbe64a630e6434e 191240 character_profiles.json
df80ee716124a7deacc6f24ee372a4600b719cdaa79f01cefcdfb286359f1801 702289 id2metric.jsonl
"""),
    ),
    "rolebench": Release(
        "rolellm/RoleBench",
        "cd4d18f5abaef48d57326bcd0c8c07f38c71a62b",
        "",
        _files("""
61870a2c8c5c886e4a754fc0afb0755dfc5861de43321db9aa082c3724a2672d 109164 rolebench-zh/role_specific/test.jsonl
da5b791e39727e16e219634609d20ecd5cacb645a8bc5d67cbf6dfcb4ff877db 587162 rolebench-zh/role_specific/train.jsonl
09e60ffcbb15a6cd94cba56b287113aa1a12bab6a5b42623370c053e60aecc66 2816863 rolebench-eng/instruction-generalization/role_specific/test.jsonl
"""),
    ),
    "character_llm": Release(
        "choosewhatulike/trainable-agents",
        "c64d54afa45da483902dc7a5bc60d8462f210fa3",
        "data/seed_data/",
        _files("""
ef58773da2df00e07419e09656482e3775841ea33cc3c0bf88de3db9878febcc 50958 profiles/wiki_Beethoven.txt
0a180aa70572c3f8adc1ade47ac0e7dd215144886832f1cb388ba11c54d949c3 57379 profiles/wiki_Caesar.txt
9bf3f33669f2b7fca08fb1d41cffbfcd77d5a5b6ea3b14eac961cef5b208aa78 55539 profiles/wiki_Cleopatra.txt
941e0f4931d63d557d880f5f687dc4605364cac0d751921dd235872962517eca 19055 profiles/wiki_Hermione.txt
8765311ae4178a1d7683020eafedb4f87e3aa687fdb240dd08b086b0e4f524ee 83279 profiles/wiki_Martin.txt
692de4982933416510c03605b7bf6c5800e3c191a31a46a3c35f1ced821e9f4d 37557 profiles/wiki_Newton.txt
6812446df22c5845bab17c2d1bee88a3de77ff7182d88ff242dc83580eb43c43 40247 profiles/wiki_Socrates.txt
d012971e33176a370e6f625371df6c0af105d4374905cbf923075a9f9ae6696e 9638 profiles/wiki_Spartacus.txt
ff9b13536d13938458d13cd3ac5e39e5203189941cce56b22767159662bac41c 28313 profiles/wiki_Voldemort.txt
6b6c5aa1c297215b7ef6fdd02605654cf1005e6e2fa744cc499bb72da476b3ca 13864 questions/generated_agent_interview_Beethoven.json
8d2603da129c0e05ff365df8324724d064dbc39aa1c1217c9f107e11c4cab1c2 15009 questions/generated_agent_interview_Caesar.json
bcb3a2cf88a8e6c02fc72cbfacb8eab6d4781b36adcc67383d4aeea9fe61aff2 17217 questions/generated_agent_interview_Cleopatra.json
024d1854d0c43d21c3b09b46f4a16536bff005e2712bced0f302e66b3d89ee8f 19517 questions/generated_agent_interview_Hermione.json
ca88b2276b69bc5dc9d12189dbed2b5e4303eeb55d39dd5e2ed608e6055b8ce9 17254 questions/generated_agent_interview_Martin.json
5e7eaacc4ea90cb1d42c8e4ffc12b78d46f083086d6be80956aaae9113509259 16654 questions/generated_agent_interview_Newton.json
80b30bf398084c96026233fc6286d4d212c8b99b5c5ec9c9ecaae02d764082fa 16298 questions/generated_agent_interview_Socrates.json
8a8c56f84934237f66b321e7f33c7d69fba21ad6e9f91a2514234fbad7589bb7 15237 questions/generated_agent_interview_Spartacus.json
175b6d748c6959e88696f419d4d543e6721c7431fbead4a4fcbebc326786d372 13042 questions/generated_agent_interview_Voldemort.json
"""),
    ),
    "coser": Release(
        "Neph0s/CoSER",
        "624efc50db7be3a4e37cec6a1c58ed434dc9f2ce",
        "data/final/",
        _files("""
46466297af5bcbb79d3efbdd32d8683f7da5f89c54952b044340c3b206605d88 382974 King Lear.json
58b6ba129a24b674047c863b4f83b45f337f5a33dbf96e1dca90d234415d2b89 337426 Othello.json
"""),
    ),
    "coser_test": Release(
        "Neph0s/CoSER",
        "624efc50db7be3a4e37cec6a1c58ed434dc9f2ce",
        "",
        _files("""
eb175779d1d5adf99c893ff1f82de9b18ada912d3f385b3f5419195afdfb374a 2566199 data/test/test_set.json
93f2291c2cd2b8386add62c92ddf5564b593c9675314c60ebdfebbcd9b75787a 42247 exp/evaluation/test_set_gpt-4o.json
"""),
    ),
    "ping_pong": Release(
        "IlyaGusev/ping_pong_bench",
        "4e3b0e0b6b093670f67b80d7d62b5a5e8e7b13fd",
        "",
        _files("""
6d24bf8264a3f36fe690eae6adaf9cfcecf45e7a017c3177ac256ae52d1c405b 57496 settings_v2.json
"""),
    ),
    "incharacter": Release(
        "Neph0s/InCharacter",
        "f554202a94d4a83dc5407245bb18981899e872e6",
        "data/",
        _files("""
db0155b4ad9e93c588afe38fc4375b7e4c12df25521df7d97a2b1ee71732ee24 9608 characters.json
c84e0cba93ff547316007a70bbc4c0263f4eb40efd6a4dc1dca36c482a0828cf 352987 characters_labels.json
73b380e566a92bfa2acca50622ac569e926aa9d21bf4dbe476448363157a7bed 31269 questionnaires/BFI.json
95e19b6ca35e3d57706b49afe5caacd2d1cebea1939d214904d36ece08463770 40927 questionnaires/16Personalities.json
"""),
    ),
}
"""By the names of datasets; of what is not here nothing is known, and nothing is fetched."""
