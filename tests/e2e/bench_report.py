"""Rows of figures as bench/report.h has them: a table for people and one line of JSON, the same keys and units, a check for every row,
and targets that are met or missed."""
import dataclasses
import json
import os


@dataclasses.dataclass
class Row:
    what: str
    figures: dict = dataclasses.field(default_factory=dict)
    must: dict = dataclasses.field(default_factory=dict)  # figure: (limit, aim, more_is_better)
    checked: int = 0
    check: str = ""

    def at_most(self, name, limit, aim=None):
        self.must[name] = (limit, aim, False)
        return self

    def at_least(self, name, limit, aim=None):
        self.must[name] = (limit, aim, True)
        return self

    def missed(self):
        return [name for name, (limit, _, more) in self.must.items()
                if not (self.figures[name] >= limit if more else self.figures[name] <= limit)]


def table(scenario, setting, rows):
    names = list(dict.fromkeys(name for row in rows for name in row.figures))
    lines = [[""] + names] + [[row.what] + [f"{row.figures[n]:.6g}" if n in row.figures else "" for n in names] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(names) + 1)]
    out = [f"{scenario}: {setting}"]
    out += ["  ".join([line[0].ljust(widths[0])] + [cell.rjust(w) for cell, w in zip(line[1:], widths[1:])]) for line in lines]
    out += [f"checked  {row.what}: {row.checked} answers, {row.check}" for row in rows]
    for row in rows:
        for name, (limit, aim, more) in row.must.items():
            out.append(f"{'MISSED' if name in row.missed() else 'met   '}  {row.what}: {name} {row.figures[name]:.6g}, must "
                       f"{'>=' if more else '<='} {limit:g}" + ("" if aim is None else f", aim {aim:g}"))
    return "\n".join(out)


def line_of_json(scenario, setting, rows):
    return json.dumps({"scenario": scenario, "setting": setting,
                       "machine": {"cores": os.cpu_count(), "load": [round(v, 2) for v in os.getloadavg()]},
                       "rows": [{"what": row.what, **{n: round(v, 6) for n, v in row.figures.items()},
                                 "must": {n: t[0] for n, t in row.must.items()},
                                 "aim": {n: t[1] for n, t in row.must.items() if t[1] is not None},
                                 "missed": row.missed(), "checked": row.checked, "check": row.check} for row in rows]})


def show(scenario, setting, rows):
    """Prints both; True when nothing was missed."""
    assert all(row.checked > 0 and row.check for row in rows), "a row whose answers nobody looked at"
    print(table(scenario, setting, rows), flush=True)
    print(line_of_json(scenario, setting, rows), flush=True)
    return not any(row.missed() for row in rows)
