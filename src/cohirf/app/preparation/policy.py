"""The thresholds by which columns of a table are read, decided upon and weighted.

They were set on real tables that nobody had cleaned, and no benchmark compares values: most are
halves, or chosen so that chance hardly ever passes them. The user overrules each decision.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ReadingPolicy:
    """How cells are read."""

    samples: int = 200  # cells that say which readings are worth a try
    date_samples: int = 20  # cells that show that most of the formats of dates are wrong
    hopeless: float = 0.5  # share of bad cells with which a reading is given up for a better one
    unit: int = 5  # characters of the longest unit
    # seconds since 1970 of the year 1000: earlier ones had two digits, and were read as four
    first_date: int = -30_610_224_000
    # years of two digits are the hundred years from this one on, if that cuts no stretch of years;
    # it may if no more years than these lack in a row
    first_year: int = 1930
    few_years: int = 5
    # messages
    named_cells: int = 5
    cell: int = 40  # characters
    # memory: different cells that are counted in a column, and in all of them
    counted: int = 10_000
    counted_in_all: int = 2**20


@dataclass(frozen=True)
class NamePolicy:
    """Words in names of columns whose whole numbers are codes, without an order."""

    # anywhere in the name
    codes: frozenset[str] = frozenset(
        {
            *("zip", "zipcode", "postcode", "postal", "plz", "fips", "fip", "isbn", "ean", "sku"),
            *("phone", "tel", "telephone", "iso", "naics", "sic", "icd", "cusip", "geoid"),
            *("isic", "nace", "sitc"),
        }
    )
    code_endings: tuple[str, ...] = ("code", "fips")  # of the last word, as in cowcode
    # One of many things, as the last word: the region of a row is not how many regions it has,
    # which would be called regions. These have no order, either.
    things: frozenset[str] = frozenset(
        {
            *("country", "nation", "state", "province", "county", "district", "region", "city"),
            *("town", "village", "municipality", "precinct", "ward", "borough", "parish"),
            *("neighborhood", "neighbourhood", "station", "site", "school", "university"),
            *("hospital", "clinic", "firm", "company", "employer", "bank", "store", "shop"),
            *("airline", "airport", "carrier", "agency", "team", "club", "party", "court"),
            *("industry", "sector", "occupation", "profession", "job", "race", "ethnicity"),
            *("religion", "denomination", "nationality", "language", "tribe", "caste", "sex"),
            *("gender", "species", "genus", "breed", "brand", "manufacturer", "vendor"),
            *("supplier", "type", "subject", "patient", "student", "teacher", "rater"),
            *("cluster", "household", "family", "block", "plot", "litter", "batch", "curve"),
        }
    )
    # Behind the beginning of such a word, as in villnum: the number of a thing, and at least so
    # many letters of it.
    number_endings: tuple[str, ...] = ("num", "no", "nr", "id")
    letters: int = 3
    # Words before it that say whose thing it is; others may say what of it is measured, as in
    # "MPG city" and "years in city".
    whose: frozenset[str] = frozenset(
        {
            *("birth", "home", "work", "origin", "dest", "destination", "from", "to", "start"),
            *("end", "first", "last", "main", "current", "own", "census", "us", "local", "sub"),
            *("mother", "father", "respondent", "customer", "store", "school", "primary", "x"),
        }
    )
    # What rises from row to row because rows are sorted by it: no number of a block of rows.
    measures: frozenset[str] = frozenset(
        {
            *("age", "ages", "year", "years", "yr", "quarter", "month", "months", "week", "weeks"),
            *("day", "days", "date", "hour", "hours", "minute", "minutes", "second", "seconds"),
            *("time", "times", "duration", "dose", "doses", "level", "distance", "height"),
            *(
                "size",
                "length",
                "width",
                "weight",
                "temperature",
                "speed",
                "rank",
                "score",
                "count",
            ),
        }
    )
    # Below the name "school", whole numbers up to this one may be the years that someone was there.
    years: tuple[str, float] = ("school", 25)


@dataclass(frozen=True)
class DecisionPolicy:
    """Which kind a column is of. Shares are of its cells that are not missing."""

    # A column has numbers or dates if at least this share of its cells, and of its different cells,
    # are such. The others are taken as missing, and named. With more different texts than numbers,
    # as in "1Fam", "2fmCon", "Duplex", it has levels, or text.
    read: float = 0.5
    # Whole numbers are names of things, such as those of tickets, if more than this share of the
    # cells is other text and most cells differ.
    named: float = 0.2
    distinct: float = 0.5
    # share of all cells; a column with more missing ones is left out: what fills them would be most
    # of its content
    missing: float = 0.5
    # Levels of a category that have a feature; rows of rarer levels have none. More features would
    # hide other columns.
    levels: int = 50
    # Levels repeat: on average, a level of a category is in at least two rows. Otherwise cells name
    # rows, or are free text.
    rows_per_level: int = 2
    known: float = 0.5  # share whose level has a feature of its own
    words_of_text: int = 3  # on average; text that names something has fewer words than free text
    # numbers and dates that count rows, or blocks of rows; fewer can be so by chance
    counting_rows: int = 20
    rows_per_block: int = 2  # on average, at least
    # Dates that only rise, or only fall, from row to row count rows if no step is more than four
    # times another: months differ, and markets are closed on up to three days. Numbers may only be
    # rounded: a population that grows steadily is measured.
    even_dates: float = 4
    even_numbers: float = 1.05
    largest_exact: int = 2**53  # larger whole numbers lose digits in 64 bits: they name something
    largest: float = 1e150  # the squares of larger numbers overflow when they are added up
    # A date is cyclic if half of the hours (weekdays) have clearly more than half of the rows: this
    # share, and if chance would hardly make the hours (weekdays) so unequal: a probability.
    cyclic: float = 0.6
    chance: float = 0.001
    # A number that stands for missing cells is so often at the end of the range, further from all
    # others than these are from each other.
    marked_cells: int = 2


@dataclass(frozen=True)
class ScalePolicy:
    """What features weigh, and how data is prepared."""

    # Variance of a category, where a number has 1: with the same, the gaps between its levels are
    # all that clusters show. Hennig and Liao (JRSS C 62, 2013) give it half of the weight, for that
    # reason.
    levels: float = 0.5
    known: float = 0.8  # share of cells; a column with fewer has less weight
    # times the range of all other cells: so far from these, a few cells have no part in the scale
    far: float = 3.0
    rounding: int = 4  # errors of one operation that scaling a cell and scaling it back may leave
    bad: float = 0.5  # share of the cells of a column of other data that cannot be read
    filled: float = 0.5  # share of the columns of a row; with more, the row is mostly guessed
    # memory: bytes of a block whose statistics are computed; cells whose median is exact, that of
    # larger data is of evenly spaced rows; bytes of prepared rows that stay in memory, the same on
    # all machines, because in-memory batches differ from those of sources
    block_bytes: int = 2**20
    median_cells: int = 2**21
    in_memory_bytes: int = 2**28


READING = ReadingPolicy()
NAME = NamePolicy()
DECISION = DecisionPolicy()
SCALE = ScalePolicy()
