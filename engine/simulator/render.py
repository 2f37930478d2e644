"""Pictures of the simulated screen: plain shapes with their texts, drawn without any asset file."""

from __future__ import annotations

import colorsys
import io
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from clawperator.engine.hierarchy.nodes import Bounds
from clawperator.engine.simulator.apps.layout import Node
from clawperator.engine.simulator.ui import Panel, Ui

if TYPE_CHECKING:
    from PIL import Image, ImageDraw, ImageFont

SRGB = 1
"""The platform's number of the colour space of screenshots."""
_FONTS = ("DejaVuSans.ttf", "Roboto-Regular.ttf", "Arial Unicode.ttf", "Arial.ttf")
_PADDING = 0.012  # of the display's width


class _Palette(NamedTuple):
    page: str
    surface: str
    raised: str
    text: str
    faint: str
    accent: str
    on_accent: str


_LIGHT = _Palette("#f6f4fa", "#ffffff", "#e7e2f3", "#1c1b22", "#6f6b7a", "#5b4bb7", "#ffffff")
_DARK = _Palette("#141318", "#1f1d26", "#2f2b3d", "#ece9f4", "#a09bb0", "#b9abff", "#1c1640")


def render_png(ui: Ui) -> bytes:
    """The display as PNG bytes."""
    out = io.BytesIO()
    render_image(ui).save(out, "PNG", compress_level=1)
    return out.getvalue()


def blank_png(width: int, height: int) -> bytes:
    """Return the picture of a display that shows nothing but a background."""
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (width, height), _LIGHT.accent).save(out, "PNG", compress_level=1)
    return out.getvalue()


def render_rgba(ui: Ui) -> tuple[tuple[int, int], bytes]:
    """The display's size in pixels, and four bytes for each of them."""
    image = render_image(ui)
    return image.size, image.convert("RGBA").tobytes()


def render_image(ui: Ui) -> Image.Image:
    """The display: black when it is off or its window is secure."""
    from PIL import Image, ImageDraw

    width, height = ui.display
    window = ui.window()
    blind = not ui.awake or ui.secure or window.screen.secure
    palette = _DARK if ui.setting("system", "dark_theme") == "1" else _LIGHT
    image = Image.new("RGB", (width, height), "#000000" if blind else palette.page)
    if not blind:
        painter = _Painter(ImageDraw.Draw(image), palette, ui.metrics.density / 160, width)
        for node in window.nodes:
            painter.node(node)
        painter.bars(width, height)
    if not blind and (panel := ui.panel()) is not None:
        image = Image.alpha_composite(
            image.convert("RGBA"), _panel_layer(panel, image.size, ui.metrics.density / 160)
        ).convert("RGB")
    return image


def _panel_layer(panel: Panel, size: tuple[int, int], scale: float) -> Image.Image:
    """The on-screen log of the Operator, on a transparent picture of that size."""
    from PIL import Image, ImageDraw

    layer = Image.new("RGBA", size, (0, 0, 0, 0))
    draw, box, font = ImageDraw.Draw(layer), panel.bounds, _load_font(round(panel.size * scale))
    draw.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), _rgba(panel.paper))
    margin = round(8 * scale)
    x = box.right - margin if panel.right else box.left + margin
    draw.text(
        (x, box.top + margin),
        panel.text,
        fill=_rgba(panel.ink),
        font=font,
        anchor="ra" if panel.right else "la",
        align="right" if panel.right else "left",
    )
    return layer


def _rgba(argb: str) -> str:
    return f"#{argb[3:]}{argb[1:3]}"


class _Painter:
    """Draws nodes one over another, in document order."""

    def __init__(self, draw: ImageDraw.ImageDraw, palette: _Palette, scale: float, width: int) -> None:
        self._draw = draw
        self._palette = palette
        self._scale = scale
        self._margin = round(width * _PADDING)
        self._fonts: dict[int, ImageFont.ImageFont | ImageFont.FreeTypeFont] = {}

    def node(self, node: Node) -> None:
        if node.seen.empty:
            return
        self._shape(node)
        view = node.view
        if view.kind == "Switch":
            self._switch(node.seen, on=view.checked)
        elif view.kind == "ProgressBar":
            self._spinner(node.seen)
        elif view.look == "icon":
            self._icon(node)
        elif view.look == "app":
            self._app(node)
        elif text := view.text or (view.desc if view.look == "hint" else ""):
            self._text(node, text)

    def _icon(self, node: Node) -> None:
        """Draw a few strokes for well-known buttons, a ring with a letter for the others."""
        x, y = node.seen.center
        unit = round(7 * self._scale)
        stroke, ink = max(3, unit // 4), self._palette.text
        desc = node.view.desc
        if desc.startswith(("Increase", "Decrease")):
            ring = round(min(node.seen.width, node.seen.height) * 0.46)
            self._draw.ellipse((x - ring, y - ring, x + ring, y + ring), self._palette.raised)
            self._draw.line((x - unit, y, x + unit, y), ink, stroke)
            if desc.startswith("Increase"):
                self._draw.line((x, y - unit, x, y + unit), ink, stroke)
        elif desc == "Navigate up":
            self._draw.line((x - unit, y, x + unit, y), ink, stroke)
            self._draw.line((x, y - unit, x - unit, y, x, y + unit), ink, stroke, joint="curve")
        elif desc == "Search":
            self._draw.ellipse((x - unit, y - unit, x + unit // 2, y + unit // 2), None, ink, stroke)
            self._draw.line((x + unit // 3, y + unit // 3, x + unit, y + unit), ink, stroke)
        else:
            self._draw.ellipse((x - 2 * unit, y - 2 * unit, x + 2 * unit, y + 2 * unit), self._palette.raised)
            self._centred(node.seen, desc[:1].upper(), 14, ink)

    def _app(self, node: Node) -> None:
        """An app's icon with its name below."""
        box, name = node.seen, node.view.text
        side = round(54 * self._scale)
        x, top = box.center[0], box.top + round(8 * self._scale)
        tile = Bounds(x - side // 2, top, x + side // 2, top + side)
        self._draw.rounded_rectangle(tuple(tile), side // 3, _tint(name))
        self._centred(tile, name[:1], 24, "#ffffff")
        self._centred(Bounds(box.left, tile.bottom, box.right, box.bottom), name, 12, self._palette.text)

    def _centred(self, box: Bounds, text: str, size: float, ink: str) -> None:
        x, y = box.center
        self._draw.text((x, y), text, fill=ink, font=self._font(round(size * self._scale)), anchor="mm")

    def _shape(self, node: Node) -> None:
        colours, look = self._palette, node.view.look
        fills = {
            "card": colours.surface,
            "tile": colours.raised,
            "bar": colours.surface,
            "image": _tint(_caption(node)),
        }
        fills |= {"field": colours.surface, "hint": colours.surface, "chip": colours.raised, "primary": colours.accent}
        on = node.view.selected or node.view.checked
        fill = colours.accent if on and look in ("chip", "tile") else fills.get(look, "")
        if node.view.kind == "Button" and not fill:
            fill = colours.raised
        if fill:
            radius = 0 if look == "bar" else min(round(14 * self._scale), node.seen.width // 2, node.seen.height // 2)
            outline = colours.accent if node.focused else None
            self._draw.rounded_rectangle(tuple(_inside(node.seen)), radius, fill, outline, width=4 if outline else 0)

    def _switch(self, box: Bounds, *, on: bool) -> None:
        track = self._palette.accent if on else self._palette.faint
        radius = box.height // 2
        self._draw.rounded_rectangle(tuple(_inside(box)), radius, track)
        knob = radius * 3 // 4
        x = box.right - radius if on else box.left + radius
        y = (box.top + box.bottom) // 2
        self._draw.ellipse((x - knob, y - knob, x + knob, y + knob), self._palette.surface)

    def _spinner(self, box: Bounds) -> None:
        radius = min(box.width, box.height) // 3
        x, y = box.center
        ring = (x - radius, y - radius, x + radius, y + radius)
        self._draw.arc(ring, -60, 210, self._palette.accent, width=max(4, radius // 5))

    def _text(self, node: Node, text: str) -> None:
        look, box = node.view.look, node.box
        size = {"heading": 17, "price": 18, "bar": 18}.get(look, 14)
        if look == "heading" and box.height > 70 * self._scale:
            size = 28
        font = self._font(round(size * self._scale))
        lines = self._wrap(text, font, box.width - 2 * self._margin)
        line_height = round(size * 1.3 * self._scale)
        top = (box.top + box.bottom - line_height * min(len(lines), max(1, box.height // line_height))) // 2
        for number, line in enumerate(lines):
            y = top + number * line_height
            if y + line_height // 4 < node.seen.top or y + line_height * 3 // 4 > min(box.bottom, node.seen.bottom):
                continue  # the viewport, or the view's own height, leaves too little of it
            free = box.width - 2 * self._margin - self._draw.textlength(line, font=font)
            left = box.left + self._margin + (max(0, int(free // 2)) if _is_centred(node) else 0)
            self._draw.text((left, y), line, fill=self._ink(node), font=font)

    def _ink(self, node: Node) -> str:
        colours, look = self._palette, node.view.look
        if look == "primary" or (look in ("chip", "tile") and (node.view.selected or node.view.checked)):
            return colours.on_accent
        inside = node.parent
        if inside is not None and inside.view.look == "tile" and inside.view.selected:
            return colours.on_accent
        if not node.view.enabled or look == "hint" or node.view.id.endswith(("summary", "detail", "note")):
            return colours.faint
        return colours.accent if look in ("price", "icon") else colours.text

    def _wrap(self, text: str, font: ImageFont.ImageFont | ImageFont.FreeTypeFont, room: int) -> list[str]:
        """Break at word boundaries where possible."""
        lines: list[str] = []
        for paragraph in text.splitlines() or [""]:
            line = ""
            for word in paragraph.split(" "):
                longer = f"{line} {word}" if line else word
                if line and self._draw.textlength(longer, font=font) > room:
                    lines.append(line)
                    longer = word
                line = longer
            lines.append(line)
        return lines

    def _font(self, size: int) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
        if size not in self._fonts:
            self._fonts[size] = _load_font(size)
        return self._fonts[size]

    def bars(self, width: int, height: int) -> None:
        """The system's own windows: status bar and gesture handle."""
        font = self._font(round(13 * self._scale))
        self._draw.text((round(20 * self._scale), round(5 * self._scale)), "9:41", fill=self._palette.text, font=font)
        right = width - round(20 * self._scale)
        battery = (right - round(22 * self._scale), round(8 * self._scale), right, round(18 * self._scale))
        self._draw.rounded_rectangle(battery, 6, fill=None, outline=self._palette.text, width=3)
        self._draw.rectangle((battery[0] + 6, battery[1] + 6, battery[2] - 12, battery[3] - 6), self._palette.text)
        handle, y = round(54 * self._scale), height - round(10 * self._scale)
        middle = width // 2
        self._draw.rounded_rectangle((middle - handle, y - 5, middle + handle, y + 5), 5, self._palette.faint)


def _load_font(size: int) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    """A system font with many glyphs, else pillow's own."""
    from PIL import ImageFont

    for name in _FONTS:
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    return ImageFont.load_default(size)


def _is_centred(node: Node) -> bool:
    return (
        node.view.kind in ("Button", "RadioButton") or node.view.look == "chip" or node.view.id == "target_temperature"
    )


def _caption(node: Node) -> str:
    """The first text beside a picture: it gives the picture its colour."""
    beside = node.parent.walk() if node.parent is not None else [node]
    return next((other.view.text for other in beside if other.view.text), node.view.desc)


def _tint(text: str) -> str:
    """A muted colour, always the same for a text."""
    red, green, blue = colorsys.hls_to_rgb(crc32(text.encode()) % 360 / 360, 0.62, 0.42)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"


def _inside(box: Bounds) -> Bounds:
    """Pillow's rectangles include their far edges."""
    return Bounds(box.left, box.top, box.right - 1, box.bottom - 1)
