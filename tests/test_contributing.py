"""CONTRIBUTING's map of the code names what there is, and nothing else."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "cohirf"
ENTRY = re.compile(r"^(?P<indent> +)(?P<name>[\w/.]+)  +\S")


def mapped() -> dict[str, list[str]]:
    """Return the names on the map: those of the package under "", those of a folder under the
    folder's name.
    """
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    lines = text.partition("    src/cohirf/\n")[2].partition("\n\n")[0].splitlines()
    names: dict[str, list[str]] = {"": []}
    for line in lines:
        entry = ENTRY.match(line)
        assert entry, f"not a line of the map: {line!r}"
        if len(entry["indent"]) == 6:
            names[""].append(entry["name"])
            folder = entry["name"]
        else:
            names.setdefault(folder, []).append(entry["name"])
    return names


def modules(folder: Path) -> list[str]:
    """Return the modules ("name.py") and packages ("name/") of a folder, without __init__ and
    __main__.
    """
    packages = [f"{path.parent.name}/" for path in folder.glob("*/__init__.py")]
    return sorted(
        [*packages, *(path.name for path in folder.glob("*.py") if not path.name.startswith("__"))]
    )


def test_the_map_names_every_module_and_package_and_nothing_else() -> None:
    of_the_application = [f"app/{name}" for name in modules(PACKAGE / "app")]
    assert sorted(mapped()[""]) == sorted([*modules(PACKAGE), *of_the_application])


def test_the_map_names_every_file_of_the_folders_that_it_says() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    complete = text.partition("and every file of ")[2].partition("; of other")[0]
    folders = re.findall(r"`([\w/]+/)`", complete)
    assert {"algorithm/", "engines/", "sources/"} <= set(folders)
    named = mapped()
    for folder in folders:
        assert sorted(named[folder]) == modules(PACKAGE / folder), folder


def test_other_files_on_the_map_are_there() -> None:
    named = [PACKAGE / folder / name for folder, names in mapped().items() for name in names]
    assert [path for path in named if not path.exists()] == []
