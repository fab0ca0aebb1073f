"""Spreadsheets for tests: as few bytes as a program that reads them accepts."""

import zipfile
from xml.sax.saxutils import escape

HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
DATED = '<numFmts/><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'


class Day(int):
    """A cell with a date, as the number of days since 1899-12-30."""


def write_cell(value):
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, Day):
        return f'<c s="1"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f"<c><v>{value}</v></c>"
    return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>' if value else "<c/>"


def write_workbook(path, sheets):
    """Write sheets, which are lists of lines, as the smallest file that is a spreadsheet."""
    parts = {
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}">{DATED}</styleSheet>',
    }
    named = ""
    linked = f'<Relationship Id="s" Type="{RELATIONS}/styles" Target="styles.xml"/>'
    kinds = ""
    for number, (name, lines) in enumerate(sheets.items(), start=1):
        cells = "".join(f"<row>{''.join(map(write_cell, line))}</row>" for line in lines)
        file = f"worksheets/sheet{number}.xml"
        parts[f"xl/{file}"] = (
            f'<worksheet xmlns="{MAIN}"><sheetData>{cells}</sheetData></worksheet>'
        )
        named += f'<sheet name="{name}" sheetId="{number}" r:id="r{number}"/>'
        linked += f'<Relationship Id="r{number}" Type="{RELATIONS}/worksheet" Target="{file}"/>'
        kinds += (
            f'<Override PartName="/xl/{file}" ContentType="application/vnd.openxmlformats-'
            'officedocument.spreadsheetml.worksheet+xml"/>'
        )
    parts["xl/workbook.xml"] = (
        f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets>{named}</sheets></workbook>'
    )
    parts["xl/_rels/workbook.xml.rels"] = (
        f'<Relationships xmlns="{PACKAGE}/relationships">{linked}</Relationships>'
    )
    parts["[Content_Types].xml"] = (
        f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="xml" '
        f'ContentType="application/xml"/>{kinds}</Types>'
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, HEAD + content)
    return path
