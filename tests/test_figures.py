"""Figures of pages: they are those of the files in docs/results, which the commands of
benchmarks/figures.py write.
"""

import re

import pytest
from tools import figures

benchmarks = pytest.importorskip("benchmarks.figures")
commands = benchmarks.COMMANDS
measured = benchmarks.MEASURED

RESULTS = sorted(
    path.relative_to(figures.RESULTS).with_suffix("").as_posix()
    for path in figures.RESULTS.rglob("*.csv")
)
SHOWN = {path: figures.names_of_files(path) for path in figures.pages()}


@pytest.fixture
def scores(tmp_path, monkeypatch):
    """Write a file of results, "scores"."""
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    lines = [
        "method,rows,ARI,cost",
        'Ward,100,0.50,"1.5 s, 20 MB"',
        'Ward,200,0.75,"3.0 s, 40 MB"',
        "DBSCAN,100,0.25,",
    ]
    (tmp_path / "scores.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    "path", figures.pages(), ids=lambda path: path.relative_to(figures.ROOT).as_posix()
)
def test_a_page_has_the_figures_of_the_files(path):
    text = path.read_text(encoding="utf-8")
    assert figures.rewrite(text, path.suffix) == text


def test_every_file_is_written_by_one_command():
    written = sorted(name for command in commands for name in command.files)
    assert written == [name for name in RESULTS if name != measured]


def test_every_file_is_shown():
    assert set(RESULTS) - set().union(*SHOWN.values()) == set()


@pytest.mark.parametrize("command", commands, ids=lambda command: command.text)
def test_a_page_that_shows_a_file_names_its_command(command):
    for name in command.files:
        texts = [path.read_text(encoding="utf-8") for path, shown in SHOWN.items() if name in shown]
        assert any(f"benchmarks.{command.module}" in text for text in texts), name


def test_every_command_is_noted_with_its_day():
    rows = figures.Results.read(measured).rows
    assert [row[1] for row in rows] == [command.text for command in commands]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", row[2]) for row in rows)


def test_a_new_run_of_a_command_replaces_its_note(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmarks, "PAGES", tmp_path)
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    (tmp_path / f"{measured}.csv").write_text(",".join(benchmarks.HEADER) + "\n", encoding="utf-8")
    for command, minutes in ((commands[1], 2.0), (commands[0], 1.0), (commands[1], 3.0)):
        benchmarks.note(command, minutes)
    rows = figures.Results.read(measured).rows
    assert [(row[1], row[-1]) for row in rows] == [
        (commands[0].text, "1.0"),
        (commands[1].text, "3.0"),
    ]


def test_commands_are_listed_by_their_files(capsys):
    benchmarks.main(["--list", "--only", "digits"])
    assert "python -m benchmarks.quality.digits --write" in capsys.readouterr().out
    benchmarks.main(["--list", "--only", "digits", "--kind", "speed"])
    assert capsys.readouterr().out == ""


def test_no_line_of_markdown_begins_with_a_figure():
    for path in SHOWN:
        if path.suffix == ".md":
            assert (
                re.findall(
                    r"^ *<!-- [^\n>]+ -->\S.*$", path.read_text(encoding="utf-8"), re.MULTILINE
                )
                == []
            )


@pytest.mark.usefixtures("scores")
def test_a_stale_figure_is_replaced_in_both_languages():
    markdown = "It has <!-- scores; Ward; 200; ARI -->0.9<!-- -->, not 0.9."
    assert figures.rewrite(markdown, ".md") == markdown.replace("-->0.9<", "-->0.75<")
    rst = "It has :figure:`0.9 <scores; Ward;\n  200; ARI>`, not 0.9."
    assert figures.rewrite(rst, ".rst") == rst.replace("`0.9", "`0.75")


@pytest.mark.usefixtures("scores")
def test_a_part_of_a_cell_is_a_figure():
    assert figures.figure("scores; Ward; 100; cost#2") == "20 MB"
    assert figures.figure("scores; Ward; 100; cost") == "1.5 s, 20 MB"


@pytest.mark.usefixtures("scores")
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("absent; Ward; ARI", "absent.csv does not exist"),
        ("scores; Ward; ARI", "2 rows that begin with 'Ward'"),
        ("scores; Birch; ARI", "0 rows that begin with 'Birch'.*Rows begin with Ward; DBSCAN"),
        ("scores; Ward; 100; cost#3", "'1.5 s, 20 MB', which has no part 3"),
        ("scores; DBSCAN; NMI", "no column 'NMI': it has method; rows; ARI; cost"),
    ],
)
def test_a_source_that_is_not_there_is_named(source, message):
    with pytest.raises(figures.NoSuchFigureError, match=message):
        figures.figure(source)


@pytest.mark.usefixtures("scores")
def test_a_table_has_the_rows_and_columns_that_it_names():
    head = "<!-- table: scores\ncolumns: method; ARI\nrows: DBSCAN\n-->\n"
    end = "<!-- end of table -->"
    assert figures.rewrite(f"{head}old\n{end}", ".md") == (
        f"{head}\n| method | ARI |\n| --- | --- |\n| DBSCAN | 0.25 |\n\n{end}"
    )


@pytest.mark.usefixtures("scores")
def test_a_table_of_a_note_is_readable_as_text():
    page = ".. table: scores\n\nold\n.. end of table\n"
    assert figures.rewrite(page, ".rst").splitlines() == [
        ".. table: scores",
        "",
        "======  ====  ====  ============",
        "method  rows  ARI   cost",
        "======  ====  ====  ============",
        "Ward    100   0.50  1.5 s, 20 MB",
        "Ward    200   0.75  3.0 s, 40 MB",
        "DBSCAN  100   0.25  \\",
        "======  ====  ====  ============",
        "",
        ".. end of table",
    ]


@pytest.mark.usefixtures("scores")
def test_the_check_names_stale_pages_and_writes_nothing(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("It has <!-- scores; DBSCAN; ARI -->0.9<!-- -->.", encoding="utf-8")
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    monkeypatch.setattr(figures, "pages", lambda: [page])
    with pytest.raises(SystemExit, match=r"page\.md"):
        figures.main(["--check"])
    assert "0.9<" in page.read_text(encoding="utf-8")
    figures.main([])
    assert "0.25<" in page.read_text(encoding="utf-8")
    figures.main(["--check"])
