"""One table for all benches: each figure beside a floor measured in the same run."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """A figure. `floor` is None where the floor could not be measured (its name then says why);
    `aim` is in words; `ok` says whether it was met, None where there is none."""

    figure: str
    ours: float
    floor_name: str
    floor: float | None
    unit: str
    aim: str = ""
    ok: bool | None = None


_HEAD = ("figure", "ours", "unit", "floor", "floor is", "aim", "")


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _cells(row: Row) -> tuple[str, ...]:
    met = {True: "ok", False: "MISSED", None: ""}[row.ok]
    ours, floor = _number(row.ours), _number(row.floor)
    return (row.figure, ours, row.unit, floor, row.floor_name, row.aim, met)


def print_table(rows: Iterable[Row]) -> None:
    """Prints the rows in aligned columns."""
    lines = [_HEAD, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, tuple("-" * width for width in widths))
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join(cells).rstrip())
