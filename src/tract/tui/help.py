"""The keys, as the help shows them."""

from __future__ import annotations

from tract.view.lines import Line, Styled

_KEYS = """
Move
  ↓ ↑  j k       next and previous block      PgDn PgUp  space  page
  g G            first and last               ← →  h l          sideways
  tab            from call to result, and back
  x X            next and previous error
  / n N          search, next and previous hit
See
  enter o        open or close this block
  t              tools: one line each, hidden (errors stay), whole
  m i !          text, thinking, only errors
  s S            original ⇄ what the model is sent: this message, all
  d              tool definitions at this point, and what changed
  w f            wrap prose, follow new messages
Change: each is one commit
  v              mark this message; the next change is for all marked
  e              edit this text, call or result
  p -            pin, leave out; again: normal
  c              fold this turn to one line; again: whole
  r              reshape: full, truncated, reference, summary, collapsed
  R              restore: undo all that was done to this message
  u ctrl+z       undo what was done last on this screen
  b B            branch from here, go to another: the dialog is there then
Leave
  q esc          back to the dialogs          ctrl+q     quit
"""


def _line(text: str) -> Line:
    return (Styled(text, "" if text.startswith(" ") else "bold"),)


HELP = tuple(_line(text) for text in _KEYS.strip().split("\n"))
