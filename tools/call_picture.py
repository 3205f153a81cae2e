#!/usr/bin/env python3
"""Draws where the time of a filter call goes, out of what `./dev bench F1 --json=FILE` has measured.

    ./dev bench F1 --json=f1.json && python3 tools/call_picture.py f1.json > docs/filter-call.svg
"""
import html
import json
import sys

PHASES = [  # key in the report, what it is, colour
    ("floor", "loopback: the same bytes there and back, answered at once", "#9aa5b1"),
    ("read", "read: body to pod, names and request", "#4c78a8"),
    ("wait", "wait: until nobody else decides", "#72b7b2"),
    ("names", "names: names to nodes", "#54a24b"),
    ("decide", "decide: class, bits, devices", "#e45756"),
    ("hold", "hold: the reservation", "#f2a93b"),
    ("encode", "encode: the answer", "#b279a2"),
    ("send", "send: to the socket", "#9d755d"),
]
WIDTH, LEFT, BAR, GAP, TOP = 900, 16, 34, 62, 46


def parts(row):
    """Micro-seconds of each part; what the parts do not explain is the difference to the median."""
    # The floor holds a reading and a sending of the same bytes, so "send" is in it.
    found = [(key, row["floor_p50_ms"] * 1000 if key == "floor" else row.get(f"{key}_us", 0)) for key, _, _ in PHASES]
    rest = row["p50_ms"] * 1000 - sum(value for key, value in found if key != "send")
    return [(key, value) for key, value in found if key != "send"], rest


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.loads(file.readline())
    rows = [row for row in report["rows"] if "read_us" in row and "names" in row["what"] and row.get("floor_p50_ms")]
    rows = [row for row in rows if "known class" in row["what"] and "all names" in row["what"]][:6]
    if not rows:
        sys.exit("no row of a known class with its phases in " + sys.argv[1])
    longest = max(row["p50_ms"] for row in rows) * 1000
    scale = (WIDTH - 2 * LEFT) / longest
    colours = {key: colour for key, _, colour in PHASES}
    height = TOP + GAP * len(rows) + 20 * ((len(PHASES) + 1) // 2) + 30
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">',
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
           f'<text x="{LEFT}" y="24" font-size="16">A filter call, microseconds (median of the call; means of its phases)</text>']
    for index, row in enumerate(rows):
        y = TOP + index * GAP
        found, rest = parts(row)
        label = f'{row["what"]}: {row["p50_ms"] * 1000:.0f} µs'
        out.append(f'<text x="{LEFT}" y="{y + 12}">{html.escape(label)}</text>')
        x = float(LEFT)
        for key, value in found + [("rest", max(rest, 0))]:
            width = value * scale
            colour = colours.get(key, "#dddddd")
            out.append(f'<rect x="{x:.1f}" y="{y + 18}" width="{width:.1f}" height="{BAR - 8}" fill="{colour}"/>')
            if width > 34:
                out.append(f'<text x="{x + 4:.1f}" y="{y + 36}" fill="#fff" font-size="12">{value:.0f}</text>')
            x += width
    y = TOP + GAP * len(rows) + 10
    legend = [(colour, text) for key, text, colour in PHASES if key != "send"] + [("#dddddd", "rest: waking up, HTTP around the call")]
    for index, (colour, text) in enumerate(legend):
        x = LEFT + (index % 2) * (WIDTH // 2)
        line = y + (index // 2) * 20
        out.append(f'<rect x="{x}" y="{line}" width="12" height="12" fill="{colour}"/>')
        out.append(f'<text x="{x + 18}" y="{line + 11}">{html.escape(text)}</text>')
    out.append("</svg>")
    print("\n".join(out))


main()
