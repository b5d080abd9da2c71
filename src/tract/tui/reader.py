"""The screen on which one dialog is read and changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.widgets import Static

from tract.core.chain import Place, voided
from tract.dialog import Dialog
from tract.errors import ConflictError, InputError, NotFoundError, TractError
from tract.model import EMPTY, CommitInfo, Form, Priority
from tract.tui.edits import text_to_edit, with_new_text
from tract.tui.help import HELP
from tract.tui.layout import Settings
from tract.tui.modals import Ask, Edit, Page, Pick
from tract.tui.pane import Pane
from tract.tui.panels import TokenBar, ToolsPanel
from tract.view.blocks import ToolResultBlock, ToolUseBlock, ViewBlock
from tract.view.conversation import Conversation
from tract.view.lines import SHORT, TOOLS, measure
from tract.view.sanitize import counted, one_line

LOOK_EVERY = 0.5  # seconds
AFTER_FIRST_SIGHT = 0.05
HEIGHTS = [(0, "-low"), (10, "-high")]  # on a low screen the conversation has all the room


class Reader(Screen[None]):
    """A conversation with all that belongs to it."""

    DEFAULT_CSS = """
    Reader > #title { height: 1; background: $primary; color: $text; padding: 0 1; }
    Reader > #status { height: 1; background: $surface; padding: 0 1; }
    Reader Static { text-wrap: nowrap; text-overflow: ellipsis; }
    Reader ToolsPanel Static { text-wrap: wrap; }
    Reader.-low TokenBar { display: none; }
    """
    VERTICAL_BREAKPOINTS = HEIGHTS

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "tools", "tools"),
        Binding("m", "toggle_setting('has_text')", "text"),
        Binding("i", "toggle_setting('has_thinking')", "thinking"),
        Binding("exclamation_mark", "toggle_setting('only_errors')", "only errors"),
        Binding("w", "toggle_setting('is_wrapped')", "wrap"),
        Binding("s", "flip", "original ⇄ sent"),
        Binding("S", "toggle_setting('is_sent')", "all sent"),
        Binding("x", "error(1)", "next error"),
        Binding("X", "error(-1)", "error before"),
        Binding("slash", "search", "search"),
        Binding("n", "again(1)", "next hit"),
        Binding("N", "again(-1)", "hit before"),
        Binding("d", "definitions", "tool definitions"),
        Binding("v", "mark", "mark"),
        Binding("e", "edit", "edit"),
        Binding("p", "pin", "pin"),
        Binding("minus", "skip", "leave out"),
        Binding("c", "collapse", "fold the turn"),
        Binding("r", "reshape", "reshape"),
        Binding("R", "restore", "restore"),
        Binding("u,ctrl+z", "undo", "undo"),
        Binding("b", "branch", "branch here"),
        Binding("B", "switch", "other branch"),
        Binding("f", "follow", "follow"),
        Binding("question_mark", "help", "help"),
        Binding("q,escape", "leave", "back"),
    ]

    def __init__(self, dialog: Dialog, settings: Settings) -> None:
        super().__init__()
        self.dialog = dialog
        self._reading = dialog.read()
        self._pane = Pane(Conversation(self._reading), settings)
        self._done: list[str] = []  # the changes that were made here, to be undone
        self._text = ""

    def compose(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        with Horizontal():
            yield self._pane
            yield ToolsPanel()
        yield TokenBar()
        yield Static(id="status", markup=False)

    def on_mount(self) -> None:
        self._pane.focus()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """The end is seen first. What has to count tokens comes after that."""
        self._pane.action_end()
        self._tell_title()
        self.set_timer(AFTER_FIRST_SIGHT, self._tell_all)
        self.set_interval(LOOK_EVERY, self._look)

    # What stands around

    def _tell_all(self) -> None:
        self.query_one(TokenBar).tell(self._reading)
        self._tell_title()

    def _tell_title(self) -> None:
        said = self._pane.settings
        words = [self.dialog.dialog, self.dialog.current_branch or "an old commit"]
        words.append(counted(len(self._reading.places), "message"))
        words.append("sent" if said.is_sent else "original")
        words.append("only errors" if said.only_errors else f"tools {said.tools}")
        words += [] if said.has_text else ["no text"]
        words += [] if said.has_thinking else ["no thinking"]
        words += ["following"] if self._pane.is_following else []
        words += [f"{len(self._pane.marked)} marked"] if self._pane.marked else []
        self.query_one("#title", Static).update(Text(one_line(" · ".join(words)), no_wrap=True))

    def on_pane_moved(self) -> None:
        block = self._pane.block
        about = one_line(" · ".join(_about(block))) if block else "nothing to see"
        hint = "  [? help]"
        self.query_one("#status", Static).update(Text(about + hint, no_wrap=True, style="dim"))
        panel = self.query_one(ToolsPanel)
        if panel.has_class("open"):
            panel.tell(self._reading, self._next_place())

    def on_pane_lost(self, event: Pane.Lost) -> None:
        self._say(event.text)

    def _say(self, text: str, *, is_error: bool = False) -> None:
        kind: SeverityLevel = "error" if is_error else "information"
        self.notify(one_line(text), severity=kind, markup=False, timeout=3)

    # Following

    def _look(self) -> None:
        """Whether something has come since. A dialog that is gone is not looked for again."""
        if not self._pane.is_following:
            return
        try:
            self._read_on()
        except TractError as error:
            self._pane.is_following = False
            self._say(str(error), is_error=True)
            self._tell_title()

    def _read_on(self, *, is_own: bool = False) -> None:
        had_messages = bool(self._reading.places)
        reading = self.dialog.read_on(self._reading)
        if had_messages and reading.head == EMPTY:
            raise NotFoundError("this dialog is not there any more")
        if reading is not self._reading:
            self._reading = reading
            self._pane.turn_to(Conversation(reading), is_own=is_own)
            self._tell_all()

    def action_follow(self) -> None:
        self._pane.is_following = not self._pane.is_following
        self._tell_title()

    # Seeing

    def _show(self, settings: Settings) -> None:
        self._pane.show(settings)
        self._tell_title()

    def action_tools(self) -> None:
        said = self._pane.settings
        following = TOOLS[(TOOLS.index(said.tools) + 1) % len(TOOLS)]
        self._show(said._replace(tools=following))

    def action_toggle_setting(self, name: str) -> None:
        said = self._pane.settings._asdict()
        self._show(Settings(**said | {name: not said[name]}))

    def action_flip(self) -> None:
        self._pane.flip()

    def action_error(self, step: int) -> None:
        pane = self._pane
        pane.go(pane.sheet.error(pane.cursor, step), "no more errors this way")

    def action_search(self) -> None:
        self.app.push_screen(Ask("Search for", self._text), self._search)

    def _search(self, text: str | None) -> None:
        if text is not None:
            self._text = text
            self._pane.search(text, 1)

    def action_again(self, step: int) -> None:
        if self._text:
            self._pane.search(self._text, step)

    def action_definitions(self) -> None:
        panel = self.query_one(ToolsPanel)
        panel.toggle_class("open")
        if panel.has_class("open"):
            panel.tell(self._reading, self._next_place())

    def action_help(self) -> None:
        self.app.push_screen(Page("Keys", HELP))

    def action_leave(self) -> None:
        self.dismiss()

    # Changing

    def _place(self) -> Place | None:
        rows, row = self._pane.sheet.conversation.rows, self._pane.cursor.row
        found = rows[row] if row < len(rows) else None
        return found if isinstance(found, Place) else None

    def _next_place(self) -> Place | None:
        """The message under the cursor, or the first one behind it."""
        rows = self._pane.sheet.conversation.rows[self._pane.cursor.row :]
        return next((row for row in rows if isinstance(row, Place)), None)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Whatever goes wrong is said, and nothing is done."""
        try:
            yield
        except TractError as error:
            self._say(str(error), is_error=True)

    def _write(self, what: str, change: Callable[[], CommitInfo]) -> None:
        """Make a change, which is one commit, and see what became of it."""
        with self._told():
            self._done.append(change().commit_hash)
            self._pane.marked.clear()
            self._read_on(is_own=True)
            self._say(f"{what}; u undoes it")

    def _places(self) -> list[Place]:
        """The messages that are marked, else the one under the cursor."""
        marked, place = self._pane.marked, self._place()
        if marked:
            found = [place for place in self._reading.places if place.origin.id in marked]
        else:
            found = [place] if place else []
        if not found:
            self._say("what was marked is not here any more" if marked else "this is no message")
        return found

    def _commits(self) -> list[str]:
        return [place.shown.hash.hex() for place in self._places()]

    def action_mark(self) -> None:
        place = self._place()
        if place:
            self._pane.marked ^= {place.origin.id}
            self._pane.action_message(1)
            self._tell_title()

    def action_pin(self) -> None:
        self._prioritize(Priority.PINNED)

    def action_skip(self) -> None:
        self._prioritize(Priority.SKIP)

    def _prioritize(self, priority: Priority) -> None:
        """Pinned or left out, or normal again where they are so already."""
        places = self._places()
        if places:
            are_so = all(place.priority == priority for place in places)
            wanted = Priority.NORMAL if are_so else priority
            commits = [place.origin.hash.hex() for place in places]
            self._write(f"now {wanted}", lambda: self.dialog.annotate(commits, wanted))

    def action_reshape(self) -> None:
        commits = self._commits()
        if commits:
            picked = Pick("Show it to the model as", [form.value for form in Form])
            self.app.push_screen(picked, lambda form: self._reshape(commits, form))

    def _reshape(self, commits: list[str], form: str | None) -> None:
        if form is not None:
            forms = dict.fromkeys(commits, form)
            self._write(f"{len(commits)} now {form}", lambda: self.dialog.reshape(forms))

    def action_collapse(self) -> None:
        """Calls and their results as one line each, or whole again."""
        turns = [member for place in self._places() for member in place.turn]
        results = {p.shown.hash.hex(): p.shape for p in turns if p.origin.role == "tool"}
        if turns and not results:
            self._say("this is neither a call nor a result")
        elif results:
            are_folded = all(s and s.form == Form.COLLAPSED for s in results.values())
            self._reshape(list(results), Form.FULL if are_folded else Form.COLLAPSED)

    def action_restore(self) -> None:
        commits = self._commits()
        if commits:
            self._write("as it was", lambda: self.dialog.restore(*commits))

    def action_undo(self) -> None:
        """The last change that was made here, and that nobody has undone yet."""
        with self._told():
            self._read_on(is_own=True)
            steps = self._reading.chain.steps
            gone = voided(steps)
            undone = {step.hash.hex() for step in steps if step.id in gone}
            self._done = [commit for commit in self._done if commit not in undone]
            if not self._done:
                self._say("nothing to undo: nothing was changed here")
                return
            self.dialog.restore(self._done[-1])
            self._done.pop()
            self._read_on(is_own=True)
            self._say("undone")

    def action_edit(self) -> None:
        place, block = self._place(), self._pane.block
        if place is None or block is None:
            self._say("this is no message")
            return
        with self._told():
            message, blocks = self._reading.whole(place), self._whole_blocks()
            seen = self._pane.sheet.cell(self._pane.cursor.row).blocks
            block = _same(seen, self._pane.cursor.block, blocks)
            text = text_to_edit(message, block, blocks)
            commit, key = place.shown.hash.hex(), place.origin.id

            def save(new: str) -> None:
                self._check_unchanged(key, commit)
                changed = with_new_text(message, block, blocks, new)
                self._done.append(self.dialog.commit(changed, edit=commit).commit_hash)
                self._read_on(is_own=True)
                self._say("edited; u undoes it")

            self.app.push_screen(Edit(f"Edit the {place.origin.role} message", text, save))

    def _check_unchanged(self, key: int, commit: str) -> None:
        """Somebody else may have with_new_text it while the box was open."""
        self._read_on(is_own=True)
        now = next((p for p in self._reading.places if p.origin.id == key), None)
        if now is None or now.shown.hash.hex() != commit:
            raise ConflictError("nothing was saved: this message has been changed meanwhile")

    def _whole_blocks(self) -> list[ViewBlock]:
        """The blocks of the whole message, whatever is seen of it."""
        return self._pane.sheet.conversation.blocks(self._pane.cursor.row, sent=False)

    def action_branch(self) -> None:
        place = self._place()
        if place is None:
            self._say("this is no message")
            return
        commit = place.origin.hash.hex()
        question = f"Name of a branch that begins after {commit[:SHORT]}"
        self.app.push_screen(Ask(question), lambda name: self._branch(name, commit))

    def _branch(self, name: str | None, commit: str) -> None:
        if name:
            with self._told():
                self.dialog.branch(name, at=commit)
                self._switch(name)

    def action_switch(self) -> None:
        self.app.push_screen(Pick("Go to the branch", self.dialog.branches()), self._switch)

    def _switch(self, name: str | None) -> None:
        if name is not None:
            with self._told():
                self.dialog.checkout(name)
                self._done.clear()
                self._pane.marked.clear()
                self._read_on()
                self._tell_title()
                self._say(f"on branch {name}")


def _same(seen: list[ViewBlock], number: int, blocks: list[ViewBlock]) -> ViewBlock:
    """The block of the whole message that one of the blocks to be seen shows."""
    block = seen[number]
    kinds = [other for other in blocks if type(other) is type(block)]
    if isinstance(block, ToolUseBlock | ToolResultBlock):
        kinds = [other for other in kinds if getattr(other, "pair", None) == block.pair]
    else:
        kinds = [other for other in kinds if other == block][seen[:number].count(block) :]
    if not kinds:
        raise InputError("this cannot be with_new_text in the form in which it is sent")
    return kinds[0]


def _about(block: ViewBlock) -> list[str]:
    """What is known of a block, in a few words."""
    words = [block.role, block.commit[:SHORT], block.note]
    if isinstance(block, ToolUseBlock):
        words += ["call", block.tool_name, block.tool_use_id]
    if isinstance(block, ToolResultBlock):
        words += ["error" if block.is_error else "", block.tool_name, block.tool_use_id]
        words += [measure(block), f"{block.tokens} tokens" if block.form == Form.FULL else ""]
    return [word for word in words if word]
