"""Where a key of a YAML file stands, and keys that stand there twice."""

from collections.abc import Iterator, Sequence

import yaml


def line_of(node: yaml.Node | None, location: Sequence[str | int]) -> int:
    """Return the line, from 1, of the deepest key or item on the way to a location in a document."""
    line = node.start_mark.line + 1 if node else 1
    for step in location:
        found = _child(node, step)
        if found is None:
            break
        line, node = found
    return line


def refuse_doubles(root: yaml.Node | None) -> None:
    """Refuse a mapping with two equal keys: YAML keeps the last without a word.

    Raises:
        yaml.MarkedYAMLError: there is one.
    """
    open_nodes, seen = [root], set[int]()
    while open_nodes:
        node = open_nodes.pop()
        if not isinstance(node, yaml.CollectionNode) or id(node) in seen:  # aliases lead to one node many times
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            _refuse_in(node)
        open_nodes.extend(_children(node))


def _child(node: yaml.Node | None, step: str | int) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step].start_mark.line + 1, node.value[step]
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == step:
                return key.start_mark.line + 1, value
    return None


def _children(node: yaml.CollectionNode) -> Iterator[yaml.Node]:
    for item in node.value:
        yield from item if isinstance(item, tuple) else (item,)


def _refuse_in(node: yaml.MappingNode) -> None:
    names = set[str]()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            if key.value in names:
                raise yaml.MarkedYAMLError(problem=f"`{key.value}` is there twice", problem_mark=key.start_mark)
            names.add(key.value)
