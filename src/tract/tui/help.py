"""The key bindings, as the help shows them."""

from __future__ import annotations

from tract.view.lines import Line, Styled

_KEYS = """
Move
  ↓ ↑  j k       next and previous block      PgDn PgUp  space  page
  g G            first and last               ← →  h l          sideways
  tab            from call to result, and back
  J K            next and previous prompt of a person; also ctrl+↓ ctrl+↑
  x X            next and previous error
  / n N          search, next and previous match
See
  enter o        open or close this block
  t              tools: one line each, hidden (except errors), in full
  m i !          show or hide text, thinking; show only errors
  s S            stored ⇄ sent to the model: this message, all
  d              tool definitions at this point, and their changes
  w f            wrap prose, follow new messages
Change: each is one commit
  v              mark this message; changes apply to all marked
  e              edit this text, call or result
  p -            pin, skip; again: back to normal
  c              collapse this turn to one line; again: in full
  r              reshape: full, truncated, reference, summary, collapsed
  R              restore: undo every change to this message
  u ctrl+z       undo the last change made on this screen
  b B            create a branch here, switch to another branch
Leave
  ctrl+p         all commands by name
  q esc          back to the dialogs          ctrl+q     quit
"""


def _line(text: str) -> Line:
    return (Styled(text, "" if text.startswith(" ") else "bold"),)


_LIST_KEYS = """
↓ ↑  j k       next and previous dialog     PgDn PgUp  space  page
g G            first and last
enter          open the dialog; a second click does the same
/              filter by words in the title, project, model or name; esc ends it
s S            sort by the next column, turn the order around; or click a column
ctrl+p         all commands by name
q esc          quit
"""

LIST_HELP = tuple(_line(f" {text}") for text in _LIST_KEYS.strip().split("\n"))
HELP = tuple(_line(text) for text in _KEYS.strip().split("\n"))
