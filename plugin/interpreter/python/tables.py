# SPDX-License-Identifier: Apache-2.0
"""Tables of pandas, polars and pyarrow: types, totals and the first rows, cut before anything is formatted. Runs in the program's own
process, when the program shows one; the program has imported the library then."""
import os
import sys

results = load("results")  # of sitecustomize.py
to_json, encode_text, Raw = results["to_json"], results["encode_text"], results["Raw"]

ROWS, COLUMNS = 100, 100
TABLE_LIMIT = 1 << 18  # characters of the rows
CELL_LIMIT = 1000
TEXT_ROWS, TEXT_COLUMNS, TEXT_WIDTH = 60, 20, 160  # where the program has not chosen
MOST_ROWS, MOST_COLUMNS = 1000, 200  # and where it has
EXACT = results["EXACT_INTEGER"]


def cell(value):
    """JSON. Numbers that JSON lacks are texts; what is missing is null."""
    kind = type(value)
    if kind.__module__ == "numpy" and hasattr(value, "item"):
        value = value.item()
        kind = type(value)
    if value is None or kind.__name__ in ("NaTType", "NAType"):
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return int.__repr__(value) if -EXACT < value < EXACT else encode_text(results["short_repr"](value, CELL_LIMIT))
    if kind is float:
        return float.__repr__(value) if value - value == 0 else "null" if value != value else encode_text(str(value))
    return encode_text(cell_text(value, kind))


def cell_text(value, kind):
    try:
        if isinstance(value, str):
            text = str.__str__(value)
        elif hasattr(kind, "isoformat") and kind.__name__ != "Timedelta":
            text = value.isoformat()
        elif kind in (list, tuple, dict, set, bytes):
            text = results["short_repr"](value, CELL_LIMIT)
        else:
            text = str(value)
    except Exception:
        text = results["repr_of"](value)
    return text if len(text) <= CELL_LIMIT else text[:CELL_LIMIT] + "..."


def described(name, kind, **more):
    return {"name": cell_text(name, type(name)), "type": str(kind)[:results["NAME_LIMIT"]], **more}


def table_of(columns, values, total_rows, total_columns):
    """columns: described ones; values: a list of the first cells for each."""
    rows, room = [], TABLE_LIMIT
    for row in zip(*values):
        text = "[" + ",".join(map(cell, row)) + "]"
        room -= len(text)
        if room < 0:
            break
        rows.append(text)
    own = sum("index" not in column for column in columns)
    table = {"columns": columns, "rows": Raw("[" + ",".join(rows) + "]"), "total_rows": total_rows, "total_columns": total_columns,
             "truncated": len(rows) < total_rows or own < total_columns}
    return Raw(to_json(table))


def columns_of_index(index):
    """None of one that only counts from zero."""
    names = list(index.names)
    if type(index).__name__ == "RangeIndex" and names == [None] and index.start == 0 and index.step == 1:
        return [], []
    if len(names) == 1:
        return [described("index" if names[0] is None else names[0], index.dtype, index=True)], [index[:ROWS].tolist()]
    levels = [index[:ROWS].get_level_values(number) for number in range(len(names))]
    return ([described(f"level_{number}" if name is None else name, level.dtype, index=True)
             for number, (name, level) in enumerate(zip(names, levels))], [level.tolist() for level in levels])


def bounded(pandas):
    """Options of pandas for a text and a page: the program's own, as far as they have an end."""
    rows, columns, width = (pandas.get_option("display." + name) for name in ("max_rows", "max_columns", "width"))
    return ("display.max_rows", min(rows or (TEXT_ROWS if rows == 0 else MOST_ROWS), MOST_ROWS),
            "display.max_columns", min(columns or (TEXT_COLUMNS if columns == 0 else MOST_COLUMNS), MOST_COLUMNS),
            "display.width", TEXT_WIDTH if width == 80 else width)


def of_pandas(pandas, value):
    is_frame = isinstance(value, pandas.DataFrame)
    if not is_frame and not isinstance(value, pandas.Series):
        return None
    with pandas.option_context(*bounded(pandas)):
        data = {"text/plain": repr(value)}
        if is_frame:
            data["text/html"] = value._repr_html_()
    columns, values = columns_of_index(value.index)
    if is_frame:
        part = value.iloc[:ROWS, :COLUMNS]
        for number, name in enumerate(part.columns):
            column = part.iloc[:, number]
            columns.append(described(name, column.dtype))
            values.append(column.tolist())
    else:
        columns.append(described("value" if value.name is None else value.name, value.dtype))
        values.append(value.iloc[:ROWS].tolist())
    return {"data": data, "table": table_of(columns, values, len(value), value.shape[1] if is_frame else 1)}


def of_polars(polars, value):
    is_frame = isinstance(value, polars.DataFrame)
    if not is_frame and not isinstance(value, polars.Series):
        return None
    shown = value
    if len(value) > MOST_ROWS:  # the program may have asked for all of them
        wanted = os.environ.get("POLARS_FMT_MAX_ROWS", "10")
        shown = value if wanted.isdigit() and int(wanted) <= MOST_ROWS else value.head(MOST_ROWS)
    part = value.head(ROWS)
    if is_frame:
        part = part.select(part.columns[:COLUMNS])
        columns = [described(name, kind) for name, kind in zip(part.columns, part.dtypes)]
        values = [part.get_column(name).to_list() for name in part.columns]
    else:
        columns, values = [described(value.name or "value", value.dtype)], [part.to_list()]
    return {"data": {"text/plain": repr(shown), "text/html": shown._repr_html_()},
            "table": table_of(columns, values, len(value), value.width if is_frame else 1)}


def of_pyarrow(pyarrow, value):
    if not isinstance(value, (pyarrow.Table, pyarrow.RecordBatch)):
        return None
    part = value.slice(0, ROWS)
    fields = list(value.schema)[:COLUMNS]
    return {"data": {"text/plain": repr(value)},
            "table": table_of([described(field.name, field.type) for field in fields],
                              [part.column(number).to_pylist() for number in range(len(fields))], value.num_rows, value.num_columns)}


MAKERS = {"pandas": of_pandas, "polars": of_polars, "pyarrow": of_pyarrow}


def members(value, library):
    """"data" and "table" of a result; None: it is no table."""
    return MAKERS[library](sys.modules[library], value)
