"""Writes `narrows/fields.py`, the types of a scenario's fields, from the schema."""

from __future__ import annotations

import json
import keyword
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from narrows import _core

HEAD = '''"""The fields of a scenario and of its parts, as types for editors and type checkers.

Made from the schema (`narrows schema`) by tests/python/typed_fields.py; what each field means is in
docs/scenario.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Required, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narrows.controller import Law
'''
# A Python class says a law, too.
LAW = "Law"
NETWORKS = ("dumbbell", "parking_lot", "chain", "links")
# What the functions of `narrows.networks` have as parameters of their own, or what means the whole
# run there.
OWN = {
    "Scenario": (*NETWORKS, "flows", "rtt"),
    "Flow": ("cc", "count", "rtt", "tcp", "packet", "to"),
    "Dumbbell": ("rate", "rtt", "buffer"),
    "ParkingLot": ("rate", "hops", "delay", "buffer"),
    "Chain": ("hops",),
}
WORDS = {
    "ParkingLot": "parking lot",
    "ChainLink": "link of a chain",
    "WayBack": "dumbbell's way back",
    "ScriptLine": "line of a script",
}
# Names of a link's fields that a call has for something else, too: where, and what the link's are.
OF_LINK = {
    "trace": ("ScenarioOptions", "str"),
    "reverse": ("FlowOptions", "WayBackFields | Mapping[str, Any]"),
}


def written() -> str:
    """Return the module's text."""
    schema = json.loads(_core.schema())
    defs: dict[str, Any] = schema["$defs"]
    tables = {name: defs[name] for name in _in_order(defs)} | {"Scenario": schema}
    classes = [text for name, node in tables.items() for text in _classes(name, node, defs)]
    calls = [_call(name) for name in ("Dumbbell", "ParkingLot", "Chain")]
    return "\n\n".join([HEAD, *classes, *calls])


def _in_order(defs: Mapping[str, Any]) -> list[str]:
    """Return the tables, each after those that it is made of."""
    tables = [name for name, node in defs.items() if "properties" in node]
    found: list[str] = []

    def visit(name: str) -> None:
        text = json.dumps(defs[name])
        for other in tables:
            if other != name and f'"#/$defs/{other}"' in text and other not in found:
                visit(other)
        if name not in found:
            found.append(name)

    for name in tables:
        visit(name)
    return found


def _classes(name: str, node: Mapping[str, Any], defs: Mapping[str, Any]) -> Iterator[str]:
    """Yield a table's classes: its options, if a function takes them, and all of its fields."""
    fields = dict(node["properties"])
    required = node.get("required", [])
    bases = []
    for field in [field for field in fields if keyword.iskeyword(field)]:
        # Only this form can have it as a name.
        kind = _type(fields.pop(field), defs)
        kind = f"Required[{kind}]" if field in required else kind
        form = f"_{name}{field.title()}"
        yield f'{form} = TypedDict("{form}", {{"{field}": "{kind}"}}, total=False)\n'
        bases.append(form)
    words = WORDS.get(name, name.lower())
    if name in OWN:
        links = name in {"Dumbbell", "ParkingLot"}
        of_call = {field for field in fields if links and field in OF_LINK}
        options = {
            field: kind
            for field, kind in fields.items()
            if field not in OWN[name] and field not in of_call
        }
        doc = f"Fields of a {words} that the functions of `narrows.networks` take as keywords."
        yield _class(f"{name}Options", [], doc, options, required, defs)
        bases.append(f"{name}Options")
        fields = {field: kind for field, kind in fields.items() if field not in options}
    yield _class(f"{name}Fields", bases, f"The fields of a {words}.", fields, required, defs)


def _class(
    name: str,
    bases: list[str],
    doc: str,
    fields: Mapping[str, Any],
    required: list[str],
    defs: Mapping[str, Any],
) -> str:
    lines = [f"class {name}({', '.join(bases or ['TypedDict'])}, total=False):", f'    """{doc}"""']
    lines.append("")
    for field, value in fields.items():
        kind = LAW if (name, field) == ("FlowFields", "cc") else _type(value, defs)
        where, of_link = OF_LINK.get(field, ("", ""))
        if name == where:
            kind = f"{of_link} | {kind}"
        lines.append(f"    {field}: {f'Required[{kind}]' if field in required else kind}")
        lines += _doc(value.get("description", ""))
    return "\n".join(lines) + "\n"


def _call(name: str) -> str:
    """Return the class of all keywords of the function that makes such a network."""
    words = WORDS.get(name, name.lower())
    bases = f"ScenarioOptions, {name}Options, FlowOptions"
    return (
        f"class {name}Keywords({bases}, total=False):\n"
        f'    """More of a run over a {words}, of the network, and of each flow."""\n'
    )


def _doc(text: str) -> Iterator[str]:
    indent = "    "
    text = " ".join(text.split())
    text = f" {text}" if text.startswith('"') else text
    one = f'{indent}"""{text}"""'
    if len(one) <= 100 and not text.endswith('"'):
        yield one
        return
    first = f'{indent}"""'
    yield from textwrap.wrap(
        text, 100, initial_indent=first, subsequent_indent=indent, break_long_words=False
    )
    yield first


def _type(node: Mapping[str, Any], defs: Mapping[str, Any]) -> str:
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        is_table = "properties" in defs[name]
        return f"{name}Fields | Mapping[str, Any]" if is_table else _type(defs[name], defs)
    if "const" in node:
        return f'Literal["{node["const"]}"]'
    options = node.get("anyOf") or node.get("oneOf")
    if options:
        return _either([_type(option, defs) for option in options])
    kinds = node["type"] if isinstance(node["type"], list) else [node["type"]]
    return _either([_plain(kind, node, defs) for kind in kinds])


def _plain(kind: str, node: Mapping[str, Any], defs: Mapping[str, Any]) -> str:
    if kind == "array" and "prefixItems" in node:
        return f"tuple[{', '.join(_type(item, defs) for item in node['prefixItems'])}]"
    if kind == "object":
        values = node["additionalProperties"]
        return f"Mapping[str, {'Any' if values is True else _type(values, defs)}]"
    if kind == "array":
        return f"Sequence[{_type(node['items'], defs)}]"
    names = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
    return names.get(kind, "None")


def _either(kinds: list[str]) -> str:
    """Join the alternatives; that a value may be missing is left out, as every field may be."""
    kinds = [kind for kind in dict.fromkeys(kinds) if kind != "None"] or ["None"]
    literals = [kind for kind in kinds if kind.startswith("Literal")]
    if len(literals) > 1:
        texts = ", ".join(kind.removeprefix("Literal[").removesuffix("]") for kind in literals)
        kinds = [kind for kind in kinds if kind not in literals] + [f"Literal[{texts}]"]
    return " | ".join(kinds)
