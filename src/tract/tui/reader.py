"""The screen of one dialog."""

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

from tract.core.chain import Place, undone_commits
from tract.core.forms import stays_full
from tract.economy.moments import Moments
from tract.economy.prices import NO_PRICES, PriceList
from tract.errors import ConflictError, InputError, NotFoundError, TractError
from tract.model import EMPTY, CommitInfo, Form, Priority, Shape
from tract.session.session import MAIN
from tract.tract import Tract
from tract.tui.footer import Footer, Hint
from tract.tui.heading import Heading
from tract.tui.help import HELP
from tract.tui.layout import Settings
from tract.tui.modals import Ask, Edit, Page, Pick
from tract.tui.pane import Pane
from tract.tui.panels import TokenBar, ToolsPanel
from tract.view.blocks import ToolResultBlock, ToolUseBlock, ViewBlock
from tract.view.conversation import Conversation
from tract.view.lines import SHORT, TOOLS, measure
from tract.view.moments import day_and_clock, duration
from tract.view.prompts import dialog_label, dialog_title
from tract.view.rewording import text_to_edit, with_new_text
from tract.view.sanitize import counted, one_line

LOOK_EVERY = 0.5  # seconds
NO_MESSAGE = "this is not a message"
LAST_HINTS = (Hint("?", "keys", "screen.help"), Hint("q", "back", "screen.dismiss(None)"))
HEIGHTS = [(0, "-low"), (10, "-high")]  # a low screen shows only the conversation


class Reader(Screen[None]):
    """A conversation with its title, tools, tokens and status."""

    DEFAULT_CSS = """
    Reader > #status { height: 1; background: $surface; padding: 0 1; }
    Reader Static { text-wrap: nowrap; text-overflow: ellipsis; }
    Reader ToolsPanel Static { text-wrap: wrap; }
    Reader.-low TokenBar, Reader.-low #status { display: none; }
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
        Binding("X", "error(-1)", "previous error"),
        Binding("J,ctrl+down", "prompt(1)", "next prompt"),
        Binding("K,ctrl+up", "prompt(-1)", "previous prompt"),
        Binding("slash", "search", "search"),
        Binding("n", "again(1)", "next match"),
        Binding("N", "again(-1)", "previous match"),
        Binding("d", "definitions", "tool definitions"),
        Binding("v", "mark", "mark"),
        Binding("e", "edit", "edit"),
        Binding("p", "pin", "pin"),
        Binding("minus", "skip", "skip"),
        Binding("c", "collapse", "collapse the turn"),
        Binding("r", "reshape", "reshape"),
        Binding("R", "restore", "restore"),
        Binding("u,ctrl+z", "undo", "undo"),
        Binding("b", "branch", "branch here"),
        Binding("B", "switch", "other branch"),
        Binding("f", "follow", "follow"),
        Binding("question_mark", "help", "help"),
        Binding("q,escape", "dismiss(None)", "back"),
    ]

    def __init__(
        self,
        dialog: Tract,
        settings: Settings,
        title: str | None = None,
        prices: PriceList = NO_PRICES,
    ) -> None:
        super().__init__()
        self.dialog = dialog
        self._title = title
        self._snapshot = dialog.read()
        self._moments = Moments(dialog, prices)
        self._pane = Pane(self._conversation(), settings, self._moments.cost)
        self._done: list[str] = []  # the commits made on this screen, for undo
        self._text = ""

    def _conversation(self) -> Conversation:
        self._moments.turn_to(self._snapshot.places)
        return Conversation(self._snapshot, self._moments.moment)

    def compose(self) -> ComposeResult:
        yield Heading()
        with Horizontal():
            yield self._pane
            yield ToolsPanel()
        yield TokenBar()
        yield Static(id="status", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        self._pane.focus()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        """Show the end first. Counting tokens comes later."""
        self._pane.action_end()
        self._show_title()
        self.set_timer(0.05, self._show_all)
        self.set_interval(LOOK_EVERY, self._look)

    # Title, panels and status

    def _show_all(self) -> None:
        self.query_one(TokenBar).show(self._snapshot)
        self._show_title()

    def _show_title(self) -> None:
        self._title = self._title or dialog_title(self._snapshot)
        label = dialog_label(self.dialog.dialog, self._title)
        self.query_one(Heading).show(label, " · ".join(self._state()))
        self._show_keys()

    def _state(self) -> Iterator[str]:
        """What is shown, and how, as far as it is not the usual."""
        settings, branch = self._pane.settings, self.dialog.current_branch or "detached HEAD"
        if self._pane.marked:
            yield f"{len(self._pane.marked)} marked"
        if branch != MAIN:
            yield branch
        yield counted(len(self._snapshot.places), "message")
        yield "only errors" if settings.only_errors else f"tools {settings.tools}"
        if settings.is_sent:
            yield "as sent"
        if not settings.has_text:
            yield "no text"
        if not settings.has_thinking:
            yield "no thinking"
        if not self._pane.is_following:
            yield "not following"

    def on_pane_moved(self) -> None:
        block = self._pane.block
        about = one_line(" · ".join(_about(block))) if block else "nothing to show"
        self.query_one("#status", Static).update(Text(about, no_wrap=True, style="dim"))
        self._show_keys()
        panel = self.query_one(ToolsPanel)
        if panel.has_class("open"):
            panel.show(self._snapshot, self._next_place())

    def _show_keys(self) -> None:
        self.query_one(Footer).show(list(self._hints()), LAST_HINTS)

    def _hints(self) -> Iterator[Hint]:
        """The keys that do something here, the most useful first."""
        block, pane = self._pane.block, self._pane
        is_tool = isinstance(block, ToolUseBlock | ToolResultBlock)
        if block:
            verb = "close" if pane.sheet.is_open(pane.cursor) else "open"
            yield Hint("enter", verb, "screen.fold")
        if is_tool:
            partner = "result" if isinstance(block, ToolUseBlock) else "call"
            yield Hint("tab", partner, "screen.partner")
        if self._text:
            yield Hint("n", "next match", "screen.again(1)")
        yield Hint("J/K", "prompt", "screen.prompt(1)")
        yield Hint("x", "error", "screen.error(1)")
        yield Hint("/", "search", "screen.search")
        yield Hint("t", "tools", "screen.tools")
        if self._done:
            yield Hint("u", "undo", "screen.undo")
        if block and block.commit:
            yield Hint("e", "edit", "screen.edit")
            yield Hint("s", "stored ⇄ sent", "screen.flip")
        if is_tool:
            yield Hint("r", "reshape", "screen.reshape")
            yield Hint("c", "collapse", "screen.collapse")
        if block and block.commit:
            yield Hint("p", "pin", "screen.pin")
            yield Hint("-", "skip", "screen.skip")
            yield Hint("v", "mark", "screen.mark")
        yield Hint("d", "definitions", "screen.definitions")

    def on_pane_lost(self, event: Pane.Lost) -> None:
        self._say(event.text)

    def _say(self, text: str, *, is_error: bool = False) -> None:
        kind: SeverityLevel = "error" if is_error else "information"
        self.notify(one_line(text), severity=kind, markup=False, timeout=3)

    # Following

    def _look(self) -> None:
        """Show new messages. Stop following when the dialog cannot be read."""
        if not self._pane.is_following:
            return
        try:
            self._read_on()
        except TractError as error:
            self._pane.is_following = False
            self._say(str(error), is_error=True)
            self._show_title()

    def _read_on(self, *, is_own: bool = False) -> None:
        had_messages = bool(self._snapshot.places)
        snapshot = self.dialog.read_on(self._snapshot)
        if had_messages and snapshot.head == EMPTY:
            raise NotFoundError("this dialog was deleted")
        if snapshot is not self._snapshot:
            self._snapshot = snapshot
            self._pane.turn_to(self._conversation(), is_own=is_own)
            self._show_all()

    def action_follow(self) -> None:
        self._pane.is_following = not self._pane.is_following
        self._show_title()

    # Viewing

    def _show(self, settings: Settings) -> None:
        self._pane.show(settings)
        self._show_title()

    def action_tools(self) -> None:
        settings = self._pane.settings
        following = TOOLS[(TOOLS.index(settings.tools) + 1) % len(TOOLS)]
        self._show(settings._replace(tools=following))

    def action_toggle_setting(self, name: str) -> None:
        settings = self._pane.settings._asdict()
        self._show(Settings(**settings | {name: not settings[name]}))

    def action_flip(self) -> None:
        self._pane.flip()

    def action_error(self, step: int) -> None:
        pane = self._pane
        pane.go(pane.sheet.error(pane.cursor, step), "no errors")

    def action_prompt(self, step: int) -> None:
        pane = self._pane
        problem = "no later prompt" if step > 0 else "no earlier prompt"
        pane.go(pane.sheet.prompt(pane.cursor, step), problem)

    def action_fold(self) -> None:
        self._pane.action_fold()
        self._show_keys()

    def action_partner(self) -> None:
        self._pane.action_partner()

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
            panel.show(self._snapshot, self._next_place())

    def action_help(self) -> None:
        self.app.push_screen(Page("Keys", HELP))

    # Changing

    def _place(self) -> Place | None:
        rows, row = self._pane.sheet.conversation.rows, self._pane.cursor.row
        place = rows[row] if row < len(rows) else None
        return place if isinstance(place, Place) else None

    def _next_place(self) -> Place | None:
        """The message under the cursor, or the next one."""
        rows = self._pane.sheet.conversation.rows[self._pane.cursor.row :]
        return next((row for row in rows if isinstance(row, Place)), None)

    @contextmanager
    def _report_errors(self) -> Iterator[None]:
        """Show an error instead of raising it."""
        try:
            yield
        except TractError as error:
            self._say(str(error), is_error=True)

    def _write(self, what: str, change: Callable[[], CommitInfo]) -> None:
        """Make a change in one commit, and show the result."""
        with self._report_errors():
            commit = change()
            self._done.append(commit.commit_hash)
            self._pane.marked.clear()
            self._read_on(is_own=True)
            self._say("; ".join(filter(None, (what, commit.message, "undo with u"))))

    def _places(self) -> list[Place]:
        """The marked messages, or the one under the cursor."""
        marked, place = self._pane.marked, self._place()
        if marked:
            places = [place for place in self._snapshot.places if place.origin.id in marked]
        else:
            places = [place] if place else []
        if not places:
            self._say("the marked messages are gone" if marked else NO_MESSAGE)
        return places

    def _commits(self) -> list[str]:
        return [place.shown.hash.hex() for place in self._places()]

    def action_mark(self) -> None:
        place = self._place()
        if place:
            self._pane.marked ^= {place.origin.id}
            self._pane.action_message(1)
            self._show_title()

    def action_pin(self) -> None:
        self._prioritize(Priority.PINNED)

    def action_skip(self) -> None:
        self._prioritize(Priority.SKIP)

    def _prioritize(self, priority: Priority) -> None:
        """Pin or skip the messages, or reset them if all of them are already."""
        places = self._places()
        if places:
            are_so = all(place.priority == priority for place in places)
            wanted = Priority.NORMAL if are_so else priority
            commits = [place.origin.hash.hex() for place in places]
            self._write(f"now {wanted}", lambda: self.dialog.annotate(commits, wanted))

    def action_reshape(self) -> None:
        commits = self._commits()
        if commits:
            question = Pick("Show to the model as", [form.value for form in Form])
            self.app.push_screen(question, lambda form: self._reshape(commits, form))

    def _reshape(self, commits: list[str], form: str | None) -> None:
        if form is not None:
            forms = dict.fromkeys(commits, form)
            short = [p for p in self._snapshot.places if stays_full(p, Shape(Form(form)))]
            count = len(set(commits) - {place.shown.hash.hex() for place in short})
            what = f"{count} now {form}" * bool(count)
            self._write(what, lambda: self.dialog.reshape(forms))

    def action_collapse(self) -> None:
        """Collapse calls and their results to one line each, or show them in full again."""
        turns = [member for place in self._places() for member in place.turn]
        results = {p.shown.hash.hex(): p.shape for p in turns if p.origin.role == "tool"}
        if turns and not results:
            self._say("this is not a call or a result")
        elif results:
            are_folded = all(s and s.form == Form.COLLAPSED for s in results.values())
            self._reshape(list(results), Form.FULL if are_folded else Form.COLLAPSED)

    def action_restore(self) -> None:
        commits = self._commits()
        if commits:
            self._write("restored", lambda: self.dialog.restore(*commits))

    def action_undo(self) -> None:
        """Undo the last change made on this screen that is still in force."""
        with self._report_errors():
            self._read_on(is_own=True)
            steps = self._snapshot.chain.steps
            gone = undone_commits(steps)
            undone = {step.hash.hex() for step in steps if step.id in gone}
            self._done = [commit for commit in self._done if commit not in undone]
            if not self._done:
                self._say("nothing to undo on this screen")
                return
            self.dialog.restore(self._done[-1])
            self._done.pop()
            self._read_on(is_own=True)
            self._say("undone")

    def action_edit(self) -> None:
        place, block = self._place(), self._pane.block
        if place is None or block is None:
            self._say(NO_MESSAGE)
            return
        with self._report_errors():
            row, sheet = self._pane.cursor.row, self._pane.sheet
            message = self._snapshot.whole(place)
            blocks = sheet.conversation.blocks(row, sent=False)
            shown = sheet.cell(row).blocks
            block = _stored_block(shown, self._pane.cursor.block, blocks)
            text = text_to_edit(message, block, blocks)
            commit, key = place.shown.hash.hex(), place.origin.id

            def save(new: str) -> None:
                self._check_unchanged(key, commit)
                changed = with_new_text(message, block, blocks, new)
                self._done.append(self.dialog.commit(changed, edit=commit).commit_hash)
                self._read_on(is_own=True)
                self._say("edited; undo with u")

            self.app.push_screen(Edit(f"Edit the {place.origin.role} message", text, save))

    def _check_unchanged(self, key: int, commit: str) -> None:
        """Another process may have edited it while the editor was open."""
        self._read_on(is_own=True)
        now = next((p for p in self._snapshot.places if p.origin.id == key), None)
        if now is None or now.shown.hash.hex() != commit:
            raise ConflictError("nothing was saved: another process changed this message")

    def action_branch(self) -> None:
        place = self._place()
        if place is None:
            self._say(NO_MESSAGE)
            return
        commit = place.origin.hash.hex()
        question = f"Name of the new branch at {commit[:SHORT]}"
        self.app.push_screen(Ask(question), lambda name: self._branch(name, commit))

    def _branch(self, name: str | None, commit: str) -> None:
        if name:
            with self._report_errors():
                self.dialog.branch(name, at=commit)
                self._switch(name)

    def action_switch(self) -> None:
        self.app.push_screen(Pick("Switch to branch", self.dialog.branches()), self._switch)

    def _switch(self, name: str | None) -> None:
        if name is not None:
            with self._report_errors():
                self.dialog.checkout(name)
                self._done.clear()
                self._pane.marked.clear()
                self._read_on()
                self._show_title()
                self._say(f"on branch {name}")


def _stored_block(shown: list[ViewBlock], number: int, blocks: list[ViewBlock]) -> ViewBlock:
    """The block of the stored message that corresponds to one of the shown blocks."""
    block = shown[number]
    kinds = [other for other in blocks if type(other) is type(block)]
    if isinstance(block, ToolUseBlock | ToolResultBlock):
        kinds = [other for other in kinds if getattr(other, "pair", None) == block.pair]
    else:
        kinds = [other for other in kinds if other == block][shown[:number].count(block) :]
    if not kinds:
        raise InputError("this form of the message cannot be edited")
    return kinds[0]


def _about(block: ViewBlock) -> list[str]:
    """The facts about a block for the status line."""
    words = [block.role, block.commit[:SHORT]]
    if block.time:
        words.append(day_and_clock(block.time))
    if block.seconds is not None:
        words.append(f"took {duration(block.seconds)}")
    if isinstance(block, ToolUseBlock):
        words += ["call", block.tool_name, block.tool_use_id]
    if isinstance(block, ToolResultBlock):
        words += ["error" if block.is_error else "", block.tool_name, block.tool_use_id]
        words += [measure(block), f"{block.tokens} tokens" if block.form == Form.FULL else ""]
    words.append(block.note)
    return [word for word in words if word]
