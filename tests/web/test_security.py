"""Who is let in: host names, tokens, origins, headers. Over the real server stack, on a small Flask server."""

from __future__ import annotations

import json

import pytest
from flask import Flask, request
from werkzeug.test import TestResponse

from dashboard import security
from dashboard.config import WebConfig

TOKEN = "correct horse battery"


def server(**settings: object) -> Flask:
    config = WebConfig(store_url="sqlite://", **settings)  # type: ignore[arg-type]
    app = Flask(__name__)
    security.install(app, config)
    app.add_url_rule("/", "page", lambda: "page")
    app.add_url_rule("/healthz", "health", lambda: "ok")
    app.add_url_rule("/api/v1/thing", "read", lambda: {"a": 1})
    app.add_url_rule("/api/v1/thing", "write", lambda: {"n": len(request.get_data())}, methods=["POST"])
    return app


def ask(app: Flask, path: str = "/", method: str = "GET", **headers: str) -> TestResponse:
    names = {key.replace("_", "-"): value for key, value in headers.items()}
    return app.test_client().open(path, method=method, headers=names)


@pytest.mark.parametrize(
    ("host", "settings", "status"),
    [
        ("127.0.0.1:8050", {}, 200),
        ("localhost", {}, 200),
        ("LOCALHOST:9", {}, 200),
        ("localhost.", {}, 200),
        ("[::1]:8050", {}, 200),
        ("evil.example", {}, 403),
        ("evil.example:8050", {}, 403),
        ("localhost.evil.example", {}, 403),
        ("127.0.0.1.evil.example", {}, 403),
        ("10.0.0.5:8050", {}, 403),
        ("localhost:port", {}, 403),
        ("", {}, 403),
        ("10.0.0.5:8050", {"host": "10.0.0.5"}, 200),
        ("10.0.0.6:8050", {"host": "10.0.0.5"}, 403),
        ("10.0.0.5:8050", {"host": "0.0.0.0"}, 200),
        ("[fd00::5]:8050", {"host": "::"}, 200),
        ("spark-01:8050", {"host": "0.0.0.0"}, 403),
        ("spark-01:8050", {"host": "0.0.0.0", "allowed_hosts": ("Spark-01",)}, 200),
        ("a.lab.example", {"allowed_hosts": ("*.lab.example",)}, 200),
        ("lab.example", {"allowed_hosts": ("*.lab.example",)}, 403),
        ("evillab.example", {"allowed_hosts": ("*.lab.example",)}, 403),
    ],
)
def test_host(host: str, settings: dict[str, object], status: int) -> None:
    assert ask(server(**settings), Host=host).status_code == status


def test_refused_host_is_named_and_the_remedy_too() -> None:
    answer = ask(server(), "/api/v1/thing", Host="evil.example")
    assert answer.json == {
        "error": "The host name “evil.example” is not one of ours; add it to allowed_hosts in the settings."
    }


def test_token_is_wanted_everywhere_but_for_health() -> None:
    app = server(token=TOKEN)
    statuses = {path: ask(app, path).status_code for path in ("/", "/api/v1/thing", "/nowhere", "/healthz")}
    assert statuses == {"/": 401, "/api/v1/thing": 401, "/nowhere": 401, "/healthz": 200}
    refused = ask(app, "/api/v1/thing")
    assert refused.headers["WWW-Authenticate"].startswith("Bearer")
    assert "wants its token" in refused.json["error"]
    assert ask(app, "/").content_type == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer  {TOKEN}", 200),
        (f"Basic {TOKEN}", 401),
        ("Bearer wrong", 401),
        ("Bearer ", 401),
        ("Bearer", 401),
        ("Bearer tökén", 401),
        (TOKEN, 401),
    ],
)
def test_bearer(authorization: str, status: int) -> None:
    answer = server(token=TOKEN).test_client().get("/", headers=[("Authorization", authorization)])
    assert answer.status_code == status


def test_link_with_the_token_becomes_a_cookie_that_is_not_the_token() -> None:
    client = server(token=TOKEN, port=8123).test_client()
    answer = client.get(f"/?a=1&token={TOKEN.replace(' ', '%20')}&b=2")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/?a=1&b=2")
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"tachograph_8123={security.session_value(TOKEN)};")
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Secure" not in cookie
    assert TOKEN not in cookie
    assert answer.headers["Cache-Control"] == "no-store"
    assert client.get("/").status_code == 200


def test_cookie_over_https_is_secure() -> None:
    client = server(token="t").test_client()
    assert "Secure" in client.get("/?token=t", base_url="https://localhost").headers["Set-Cookie"]


def test_link_with_a_wrong_token_sets_nothing() -> None:
    answer = server(token=TOKEN).test_client().get("/?token=guess")
    assert answer.status_code == 401
    assert "Set-Cookie" not in answer.headers
    assert answer.text.startswith("This token is wrong.")


def test_link_cannot_lead_to_another_host() -> None:
    answer = server(token="t").test_client().get("//evil.example/?token=t", base_url="http://localhost")
    assert not answer.headers.get("Location", "/").startswith("//")


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("/?x=1&%74oken=t", "/?x=1"),
        ("/?x=1&token=t&token=u&to%6ben=v", "/?x=1"),
        ("/?token=t", "/"),
        ("/?token=t&tokens=2&=3&a", "/?tokens=2&=3&a="),
        ("/?q=a%26token%3Db%23%0d%0a&token=t", "/?q=a%26token%3Db%23%0D%0A"),
        ("/?q=Gr%C3%BC%C3%9Fe+an&token=t", "/?q=Gr%C3%BC%C3%9Fe+an"),
        ("/node/spark%2001?token=t", "/node/spark%2001"),
        ("/node/gr%C3%BCn?token=t", "/node/gr%C3%BCn"),
        ("/%0d%0aX-A:b?token=t", "/%0D%0AX-A%3Ab"),
        ("/%09/evil.example?token=t", "/%09/evil.example"),
        ("/%5Cevil.example?token=t", "/%5Cevil.example"),
        ("/a%3Fb%23c%25?token=t", "/a%3Fb%23c%25"),
    ],
)
def test_link_leads_to_the_same_page_without_the_token(path: str, location: str) -> None:
    client = server(token="t").test_client()
    answer = client.get(path)
    assert (answer.status_code, answer.headers["Location"]) == (303, location)
    assert "X-A" not in answer.headers
    assert client.get(location).status_code in (200, 404), "the cookie is enough from here on"


def test_wrong_or_foreign_cookie() -> None:
    app = server(token=TOKEN, port=1)
    for name, value in (("tachograph_1", "x"), ("tachograph_1", TOKEN), ("other", security.session_value(TOKEN))):
        client = app.test_client()
        client.set_cookie(name, value)
        assert client.get("/").status_code == 401


def test_without_a_token_the_parameter_means_nothing() -> None:
    assert server().test_client().get("/?token=x").status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://localhost"}, 200),
        ({"Origin": "http://LOCALHOST"}, 200),
        ({"Origin": "http://localhost:8051"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "file://localhost"}, 403),
        ({"Origin": "http://["}, 403),
        ({"Origin": "http://[::1"}, 403),
        ({"Origin": "http://[x]"}, 403),
        ({"Origin": ""}, 403),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": "http://localhost"}, 403),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://behind.a.proxy"}, 200),
    ],
)
def test_origin_of_what_changes_something(headers: dict[str, str], status: int) -> None:
    app = server()
    assert app.test_client().post("/api/v1/thing", headers=headers).status_code == status
    assert app.test_client().get("/api/v1/thing", headers=headers).status_code == 200


def test_a_change_needs_the_session_too() -> None:
    app = server(token=TOKEN)
    assert app.test_client().post("/api/v1/thing", headers={"Origin": "http://localhost"}).status_code == 401
    assert app.test_client().post(f"/api/v1/thing?token={TOKEN}").status_code == 401


def test_headers_stand_on_every_answer() -> None:
    app = server(token=TOKEN)
    for path in ("/healthz", "/", "/nowhere"):
        headers = ask(app, path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "no-referrer"
        policy = headers["Content-Security-Policy"]
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe-eval" not in policy


def test_dash_scripts_are_allowed_by_their_hash_only() -> None:
    app = server()
    security.allow_scripts(app, ["'sha256-abc='", "sha256-def="])
    policy = ask(app).headers["Content-Security-Policy"]
    assert "script-src 'self' 'sha256-abc=' 'sha256-def=';" in policy


def test_body_cap() -> None:
    client = server().test_client()
    assert client.post("/api/v1/thing", data=b"x" * security.BODY_CAP_BYTES).json == {"n": security.BODY_CAP_BYTES}
    refused = client.post("/api/v1/thing", data=b"x" * (security.BODY_CAP_BYTES + 1))
    assert refused.status_code == 413
    assert "error" in refused.json


def test_unknown_route_of_the_api_answers_in_json() -> None:
    answer = ask(server(), "/api/v1/nowhere")
    assert answer.status_code == 404
    assert "error" in answer.json


def test_script_json_cannot_end_its_element() -> None:
    value = {"name": "</script><!--&\u2028\u2029<script>", "n": 1.5}
    text = security.script_json(value)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == value
