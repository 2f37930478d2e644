"""A pane whose rows grow at the end."""

from __future__ import annotations

from clawperator.widgets.line_pane import LinePane


class FollowingPane(LinePane):
    """Follows the end until the cursor moves up, and again when it is back there. Subclasses implement ``_to_end``."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.following = True

    def _following_changed(self) -> None:
        """Called when following starts or stops."""

    def move_to(self, index: int) -> None:
        super().move_to(index)
        self._set_following(self.row_count() > 0 and self.cursor == self.row_count() - 1)

    def scroll_rows(self, rows: int) -> None:
        super().scroll_rows(rows)
        if rows < 0:
            self._set_following(False)

    def _set_following(self, following: bool) -> None:
        if following != self.following:
            self.following = following
            self._following_changed()
