"""The rooms of the package and the arrows between them, read from the source: for the picture, and for a test.

A room is a folder or a module directly below ``sizewise``. An arrow goes from a room to one that it imports, wherever
in the file the import stands.
"""

import ast
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "sizewise"
# Small modules that everybody stands on: one box.
GROUND = (
    *("errors", "wording", "palette", "progress", "files", "json_files"),
    *("csv_files", "checksums", "outside_names", "parallel"),
)
WIDTH, HEIGHT, ACROSS, BETWEEN, LANE = 172, 60, 22, 46, 6  # of a box, the space beside and between, and of an arrow
SWEEPS = 12  # up and down the layers, until neighbours are near each other

Arrows = dict[str, set[str]]


def on_files(files: Any, *, config: Any) -> Any:
    """Called by MkDocs: the picture is drawn when the site is built."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "figures/architecture.svg", content=draw(read_arrows(), read_words())))
    return files


def read_arrows(package: Path = PACKAGE) -> Arrows:
    """Which rooms each room imports; ``__init__`` and ``__main__`` of the package itself only hand on."""
    rooms = {path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    rooms -= {"__init__", "__main__", "__pycache__"}
    arrows: Arrows = {room: set() for room in sorted(rooms)}
    for path in sorted(package.rglob("*.py")):
        room = path.relative_to(package).parts[0].removesuffix(".py")
        if room in rooms:
            arrows[room] |= {one for one in imported(path) if one in rooms} - {room}
    return arrows


def imported(path: Path) -> set[str]:
    """The rooms that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
        else:
            continue
        parts = [name.split(".") for name in names]
        found |= {part[1] for part in parts if part[0] == "sizewise" and len(part) > 1}
    return found


def read_words(package: Path = PACKAGE) -> dict[str, str]:
    """What the docstring of each room says it is, up to the first full stop."""
    words = {}
    for room in read_arrows(package):
        path = package / room / "__init__.py" if (package / room).is_dir() else package / f"{room}.py"
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        words[room] = " ".join(text.split("\n\n")[0].split()).split(". ")[0].rstrip(".")
    return words


def reach(arrows: Arrows) -> Arrows:
    """All rooms that can be reached from each; raises where a room reaches itself."""
    found: Arrows = {}

    def visit(room: str, path: tuple[str, ...]) -> set[str]:
        if room in path:
            raise ValueError(f"a circle of imports: {' → '.join((*path, room))}")
        if room not in found:
            found[room] = set().union(*({one} | visit(one, (*path, room)) for one in arrows.get(room, ())))
        return found[room]

    for room in arrows:
        visit(room, ())
    return found


def draw(arrows: Arrows, words: dict[str, str]) -> str:
    """The picture: rooms in layers, each above all that it imports; arrows that follow from others are left out."""
    arrows, words = _with_ground(arrows, words)
    below = reach(arrows)
    direct = {
        room: {one for one in mine if not any(one in below[other] for other in mine if other != one)}
        for room, mine in arrows.items()
    }
    layers, chains = _layers(direct, below)
    places = _places(layers, chains)
    width = max(x for x, _ in places.values()) + WIDTH / 2 + ACROSS
    height = max(y for _, y in places.values()) + HEIGHT / 2 + ACROSS
    lines = [_line([places[node] for node in chain]) for chain in chains]
    boxes = [_box(room, words[room], *places[room]) for room in sorted(direct)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        'aria-label="The rooms of sizewise and what they import" font-family="sans-serif">\n'
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0L8,4L0,8z" fill="#607d8b"/></marker></defs>\n' + "\n".join([*lines, *boxes]) + "\n</svg>\n"
    )


def _with_ground(arrows: Arrows, words: dict[str, str]) -> tuple[Arrows, dict[str, str]]:
    def named(room: str) -> str:
        return "ground" if room in GROUND else room

    joined: Arrows = {named(room): set() for room in arrows}
    for room, mine in arrows.items():
        joined[named(room)] |= {named(one) for one in mine} - {named(room)}
    return joined, words | {"ground": ", ".join(GROUND)}


def _layers(direct: Arrows, below: Arrows) -> tuple[list[list[str]], list[list[str]]]:
    """Rooms by the longest way down, and the nodes that each arrow passes: between two layers it has its own place."""
    depth: dict[str, int] = {}
    for room in sorted(direct, key=lambda one: (len(below[one]), one)):
        depth[room] = 1 + max((depth[one] for one in direct[room]), default=-1)
    layers: list[list[str]] = [[] for _ in range(max(depth.values()) + 1)]
    for room in sorted(depth):
        layers[depth[room]].append(room)
    chains = []
    for room in sorted(direct):
        for one in sorted(direct[room]):
            between = [f"{room}→{one} {level}" for level in range(depth[room] - 1, depth[one], -1)]
            for level, node in zip(range(depth[room] - 1, depth[one], -1), between, strict=True):
                layers[level].append(node)
            chains.append([room, *between, one])
    return layers, chains


def _places(layers: list[list[str]], chains: list[list[str]]) -> dict[str, tuple[float, float]]:
    """The middle of each node: neighbours in the layers above and below pull it to their side."""
    near: dict[str, list[str]] = {node: [] for layer in layers for node in layer}
    for chain in chains:
        for upper, lower in pairwise(chain):
            near[upper].append(lower)
            near[lower].append(upper)
    x = {node: float(at) for layer in layers for at, node in enumerate(layer)}
    for _ in range(SWEEPS):
        for layer in (*layers, *reversed(layers)):
            wanted = {node: sum(x[one] for one in near[node]) / len(near[node]) for node in layer if near[node]}
            layer.sort(key=lambda node: (wanted.get(node, 0.0), node))
            spaces = [(WIDTH if node in near and " " not in node else LANE) + ACROSS for node in layer]
            left = -sum(spaces) / 2
            for node, space in zip(layer, spaces, strict=True):
                x[node], left = left + space / 2, left + space
    edge = min(x[node] for layer in layers for node in layer) - WIDTH / 2 - ACROSS
    top = len(layers) - 1
    return {
        node: (x[node] - edge, ACROSS + HEIGHT / 2 + (top - level) * (HEIGHT + BETWEEN))
        for level, layer in enumerate(layers)
        for node in layer
    }


def _line(points: list[tuple[float, float]]) -> str:
    """A smooth line through the points, straight past every layer."""
    x, y = points[0][0], points[0][1] + HEIGHT / 2
    path = f"M{x:.0f},{y:.0f}"
    for number, (to_x, middle) in enumerate(points[1:], start=1):
        to_y = middle - HEIGHT / 2 - 3
        bend = (to_y - y) / 2
        path += f"C{x:.0f},{y + bend:.0f} {to_x:.0f},{to_y - bend:.0f} {to_x:.0f},{to_y:.0f}"
        x, y = to_x, to_y
        if number < len(points) - 1:
            y = middle + HEIGHT / 2
            path += f"V{y:.0f}"
    return f'<path d="{path}" fill="none" stroke="#607d8b" stroke-width="1.3" marker-end="url(#head)"/>'


def _box(room: str, words: str, x: float, y: float) -> str:
    text = "".join(
        f'<text x="{x:.0f}" y="{y + 6 + 13 * at:.0f}" font-size="10" fill="#37474f">{line}</text>'
        for at, line in enumerate(_wrapped(words, 30))
    )
    return (
        f'<g text-anchor="middle"><rect x="{x - WIDTH / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{WIDTH}" '
        f'height="{HEIGHT}" rx="7" fill="#e0f2f1" stroke="#00796b"/><text x="{x:.0f}" y="{y - 10:.0f}" '
        f'font-size="14" font-weight="bold" fill="#004d40">{room}</text>{text}</g>'
    )


def _wrapped(words: str, letters: int) -> list[str]:
    import html
    import textwrap

    lines = textwrap.wrap(words, letters)
    if len(lines) > 2:
        lines = [lines[0], textwrap.shorten(" ".join(lines[1:]), letters, placeholder=" …")]
    return [html.escape(line) for line in lines]
