#!/usr/bin/env python3
"""Turns a captured terminal screen (text with colour escapes, e.g. `tmux capture-pane -e -p`) on standard input into an SVG picture.
   tmux new-session -d -s demo -x 100 -y 34 'build/tessera demo'; sleep 20; tmux capture-pane -e -p -t demo | tools/terminal_picture.py > docs/demo.svg"""
import html
import re
import sys

WIDTH, HEIGHT, MARGIN = 8.4, 17, 14
BASIC = ["#1d1f21", "#cc6666", "#b5bd68", "#f0c674", "#81a2be", "#b294bb", "#8abeb7", "#c5c8c6"]
PAPER, INK = "#14161a", "#d8dce2"


def colour(number):
    if number < 16:
        return BASIC[number % 8]
    if number >= 232:
        level = 8 + 10 * (number - 232)
        return f"#{level:02x}{level:02x}{level:02x}"
    number -= 16
    return "#" + "".join(f"{0 if c == 0 else 55 + 40 * c:02x}" for c in (number // 36, number // 6 % 6, number % 6))


def apply(codes, style):
    codes = [int(c) if c else 0 for c in codes.split(";")]
    while codes:
        code = codes.pop(0)
        if code == 0:
            style.update(ink=INK, paper=None, bold=False)
        elif code == 1:
            style["bold"] = True
        elif code in (38, 48) and len(codes) >= 2 and codes.pop(0) == 5:
            style["ink" if code == 38 else "paper"] = colour(codes.pop(0))
        elif code == 39:
            style["ink"] = INK
        elif code == 49:
            style["paper"] = None
        elif 30 <= code <= 37:
            style["ink"] = colour(code - 30)
        elif 40 <= code <= 47:
            style["paper"] = colour(code - 40)


def main():
    style = {"ink": INK, "paper": None, "bold": False}
    back, front = [], []
    lines = sys.stdin.read().rstrip("\n").split("\n")
    while lines and not re.sub(r"\x1b\[[0-9;]*m", "", lines[-1]).strip():
        lines.pop()
    widest = 0
    for row, line in enumerate(lines):
        column = 0
        for escape, text in re.findall(r"(?:\x1b\[([0-9;]*)m)|([^\x1b]+)", line):
            if not text:
                apply(escape, style)
                continue
            x, y = MARGIN + column * WIDTH, MARGIN + row * HEIGHT
            if style["paper"]:
                back.append(f'<rect x="{x:.1f}" y="{y}" width="{len(text) * WIDTH:.1f}" height="{HEIGHT}" fill="{style["paper"]}"/>')
            if text.strip():
                bold = ' font-weight="bold"' if style["bold"] else ""
                front.append(f'<text x="{x:.1f}" y="{y + HEIGHT - 4}" fill="{style["ink"]}"{bold} textLength="{len(text) * WIDTH:.1f}">'
                             f"{html.escape(text)}</text>")
            column += len(text)
        widest = max(widest, column)
    width, height = widest * WIDTH + 2 * MARGIN, len(lines) * HEIGHT + 2 * MARGIN
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" font-family="monospace" font-size="14" '
          f'xml:space="preserve"><rect width="100%" height="100%" rx="8" fill="{PAPER}"/>')
    print("\n".join(back + front))
    print("</svg>")


main()
