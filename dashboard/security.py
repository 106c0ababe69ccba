"""Who may ask: host names, tokens, origins, and the headers that keep a browser from being turned against its user.

Every decision is a pure function of text; `install` hangs them into a Flask server.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Iterable, Mapping
from urllib.parse import quote, urlencode, urlsplit

import orjson
from flask import Flask, Response, redirect, request
from werkzeug.exceptions import HTTPException

from dashboard.config import WebConfig

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
WILDCARD_HOSTS = frozenset({"0.0.0.0", "::", ""})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
OPEN_PATHS = frozenset({"/healthz"})
BODY_CAP_BYTES = 1 << 20
YEAR_S = 365 * 24 * 3600

NO_TOKEN = (
    "This Tachograph wants its token: open the link that was printed at its first start (it ends in ?token=…), "
    "or send the header “Authorization: Bearer TOKEN”."
)

FIXED_HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def host_name(header: str) -> str:
    """Name in a Host header, without port and brackets, in lower case; "" where the header is malformed."""
    try:
        parts = urlsplit(f"//{header}")
        name = (parts.hostname or "").rstrip(".")
        return name if parts.port != 0 else ""  # reading the port finds one that is no number
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def host_allowed(header: str, config: WebConfig) -> bool:
    """Whether a request with this Host header may be answered.

    A page of a foreign site whose name was re-pointed here carries the foreign name; that is all DNS rebinding can do.
    So a bare address is safe where the server listens on every address, and a name must be known.
    """
    name = host_name(header)
    if not name:
        return False
    if name in LOOPBACK_NAMES or name == config.host.lower():
        return True
    if config.host in WILDCARD_HOSTS and _is_address(name):
        return True
    return any(_name_matches(name, allowed.lower()) for allowed in config.allowed_hosts)


def _name_matches(name: str, allowed: str) -> bool:
    if allowed.startswith("*."):
        return name.endswith(allowed[1:])
    return name == allowed.strip("[]")


def origin_allowed(origin: str | None, fetch_site: str | None, host: str) -> bool:
    """Whether a request that changes something comes from our own page, or from no page at all (a script).

    origin, fetch_site, host: headers `Origin`, `Sec-Fetch-Site`, `Host`. Browsers send at least one of the first two
    with every request that changes something; a script sends neither. The second is the browser's own judgement, and
    holds behind a proxy that changes the host name too.
    """
    if fetch_site is not None:
        return fetch_site in ("same-origin", "none")
    if origin is None:
        return True
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


PAGE, API = "page", "API"
"""Who gives an order, where it does not say so itself."""


def asker(origin: str | None, fetch_site: str | None) -> str:
    """By which way an order came: a page's has a header (`Origin`, `Sec-Fetch-Site`) that a script does not send."""
    return API if origin is None and fetch_site is None else PAGE


def session_value(token: str) -> str:
    """What the cookie carries in the token's place: it cannot be turned back into the token."""
    return hmac.new(token.encode(), b"tachograph web session", hashlib.sha256).hexdigest()


def cookie_name(config: WebConfig) -> str:
    """Cookies do not know ports: two installations on one host must not overwrite each other's."""
    return f"tachograph_{config.port}"


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())


def authenticated(config: WebConfig, cookie: str | None, authorization: str | None) -> bool:
    """Whether a visitor has shown the token, as session cookie or as `Bearer` header."""
    if config.token is None:
        return True
    if cookie is not None and _same(cookie, session_value(config.token)):
        return True
    kind, _, given = (authorization or "").partition(" ")
    return kind.lower() == "bearer" and _same(given.strip(), config.token)


def content_policy(script_hashes: Iterable[str] = ()) -> str:
    """Content security policy: own scripts and Dash's inline ones by hash, inline styles, nothing from outside."""
    scripts = " ".join(("'self'", *(f"'{value.strip(chr(39))}'" for value in script_hashes)))
    return (
        f"default-src 'self'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    )


_SCRIPT_ESCAPES = {b"<": rb"\u003c", b">": rb"\u003e", b"&": rb"\u0026", "\u2028".encode(): rb"\u2028"}
_SCRIPT_ESCAPES["\u2029".encode()] = rb"\u2029"


def script_json(value: object) -> str:
    """JSON that may stand inside `<script type="application/json">`: no text in it can end the element."""
    data = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    for raw, escaped in _SCRIPT_ESCAPES.items():
        data = data.replace(raw, escaped)
    return data.decode()


def refusal(status: int, text: str) -> Response:
    """An answer that refuses: JSON under /api, plain text elsewhere."""
    if request.path.startswith("/api/"):
        body, kind = orjson.dumps({"error": text}), "application/json"
    else:
        body, kind = f"{text}\n".encode(), "text/plain; charset=utf-8"
    response = Response(body, status=status, content_type=kind)
    if status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="tachograph"'
    return response


def _without_token(path: str, query: Iterable[tuple[str, str]]) -> str:
    """The address of a decoded path and query, without parameters called `token`.

    A path of two slashes would be read as another host's address; so would a backslash or a tab, were it not encoded.
    """
    rest = urlencode([pair for pair in query if pair[0] != "token"])
    return "/" + quote(path.lstrip("/")) + (f"?{rest}" if rest else "")


def _token_link(config: WebConfig) -> Response | None:
    """`?token=…` becomes a session cookie and disappears from the address bar, so from history and bookmarks."""
    given = request.args.get("token")
    if config.token is None or given is None or request.method != "GET":
        return None
    if not _same(given, config.token):
        return refusal(401, "This token is wrong. " + NO_TOKEN)
    answer = redirect(_without_token(request.path, request.args.items(multi=True)), code=303)
    answer.set_cookie(
        cookie_name(config),
        session_value(config.token),
        max_age=YEAR_S,
        httponly=True,
        samesite="Lax",
        secure=request.is_secure,
    )
    answer.headers["Cache-Control"] = "no-store"
    return answer  # type: ignore[return-value]


def _guard(config: WebConfig) -> Response | None:
    host = request.headers.get("Host", "")
    if not host_allowed(host, config):
        shown = host_name(host)[:80] or "(none)"
        return refusal(403, f"The host name “{shown}” is not one of ours; add it to allowed_hosts in the settings.")
    if request.method not in SAFE_METHODS and not origin_allowed(
        request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site"), host
    ):
        return refusal(403, "This request comes from another site's page.")
    if request.path in OPEN_PATHS:
        return None
    linked = _token_link(config)
    if linked is not None:
        return linked
    cookie = request.cookies.get(cookie_name(config))
    if not authenticated(config, cookie, request.headers.get("Authorization")):
        return refusal(401, NO_TOKEN)
    return None


def install(server: Flask, config: WebConfig) -> None:
    """Put the checks before, and the headers behind, everything the server answers."""
    server.config["MAX_CONTENT_LENGTH"] = BODY_CAP_BYTES
    server.config["TACHOGRAPH_CSP"] = content_policy()

    @server.before_request
    def check() -> Response | None:
        return _guard(config)

    @server.after_request
    def harden(response: Response) -> Response:
        for name, value in FIXED_HEADERS.items():
            response.headers.setdefault(name, value)
        response.headers.setdefault("Content-Security-Policy", server.config["TACHOGRAPH_CSP"])
        return response

    @server.errorhandler(HTTPException)
    def refused(error: HTTPException) -> Response:
        return refusal(error.code or 500, error.description or error.name)


def allow_scripts(server: Flask, script_hashes: Iterable[str]) -> None:
    """Let Dash's own inline scripts run, by their hashes; call it after all callbacks are registered."""
    server.config["TACHOGRAPH_CSP"] = content_policy(script_hashes)
