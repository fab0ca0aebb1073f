"""Pages of classes: parameters, attributes, notes and examples are sections, which the table of
contents lists.

numpydoc writes them as fields and rubrics, which no table of contents has.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx import addnodes

GENERATED = "reference/generated/"  # where autosummary writes the pages of classes
BEFORE_CONTENTS = 400  # Sphinx lists the sections of a page at 500


def make_section(title: str, body: list[nodes.Node]) -> nodes.section:
    """Return a section whose anchor is its title."""
    name = nodes.make_id(title)
    return nodes.section("", nodes.title("", title), *body, ids=[name], names=[name])


def split_content(content: nodes.Element) -> list[nodes.section]:
    """Take the fields and rubrics of a docstring out of it, and return each as a section."""
    sections: list[nodes.section] = []
    for child in list(content.children):
        if isinstance(child, nodes.field_list):
            sections += [make_section(field[0].astext(), field[1].children) for field in child]
        elif isinstance(child, nodes.rubric):
            sections.append(make_section(child.astext(), []))
        elif sections:
            sections[-1].append(child.deepcopy())
        else:
            continue
        content.remove(child)
    return sections


def use_sections(app: Any, doctree: nodes.document) -> None:
    """Turn the docstring of a class into sections of its page."""
    if not app.env.docname.startswith(GENERATED):
        return
    for description in list(doctree.findall(addnodes.desc)):
        if description["objtype"] in ("class", "exception") and isinstance(
            description.parent, nodes.section
        ):
            description["no-contents-entry"] = True  # the title of the page is its entry
            page = description.parent
            place = page.index(description) + 1
            page[place:place] = split_content(description[-1])


def setup(app: Any) -> dict[str, bool]:
    """Register the hook with Sphinx."""
    app.connect("doctree-read", use_sections, priority=BEFORE_CONTENTS)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
