"""Alerts in the browser: what fires, what people do about it, and rules that they change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Dialog, Page, expect

from storage.records import Batch
from telemetry.catalog import gpu
from tests.browser.conftest import Complaints, MakeSite, Open, Site
from tests.web.alert_world import alert, collecting, raise_alerts


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    """Three causes fire, one of them silenced; one alert is over."""
    found = make_site(ticks=60)
    raise_alerts(found.world)
    return found


def card(page: Page, title: str) -> Any:
    """The card of a cause."""
    return page.locator(".alert-card", has_text=title)


def rule(page: Page, title: str) -> Any:
    """A rule, opened."""
    found = page.locator(f".rule[data-rule='{title}']")
    found.locator("summary").first.click()
    return found


def orders(page: Page) -> list[Any]:
    """What this page asks for, as it is sent."""
    sent: list[Any] = []
    page.on("request", lambda one: sent.append(one.post_data_json) if one.url.endswith("/alerts/commands") else None)
    return sent


@pytest.mark.look
def test_a_new_alert_appears_and_is_acknowledged_and_silenced(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/alerts")
    expect(page.locator(".alert-card")).to_have_count(3)
    site.world.writer.commit(
        Batch(alerts=[alert(6, "nvme_hot", ("spark-04", "nvme"), 59, place="sensor")]), site.world.now
    )
    expect(card(page, "nvme_hot 6")).to_contain_text("for 11.0 s")
    with collecting(site.world):
        card(page, "nvme_hot 6").get_by_role("button", name="Acknowledge").click()
        expect(card(page, "nvme_hot 6")).to_contain_text("fires, acknowledged")
        card(page, "nvme_hot 6").get_by_role("combobox").select_option("8 h")
        card(page, "nvme_hot 6").get_by_role("button", name="Silence").click()
        expect(card(page, "nvme_hot 6")).to_contain_text("fires, silenced")
        row = page.locator(".silences tbody tr", has_text="rule nvme_hot, node spark-04")
        expect(row).to_contain_text("active")
        row.get_by_role("button", name="End").click()
        expect(row).to_have_count(0)
        expect(card(page, "nvme_hot 6")).to_contain_text("fires, acknowledged")
    ended = next(one for one in site.world.writer.silences() if one.rule == "nvme_hot")
    assert ended.end_ms <= site.world.now


def test_a_maintenance_is_planned_and_its_form_is_empty_again(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/alerts")
    sent = orders(page)
    with collecting(site.world):
        page.get_by_text("Silence alerts, or plan a maintenance").click()
        form = page.locator("[data-key=silence] form.typed")
        form.get_by_label("Node or engine").fill("spark-02")
        form.get_by_label("Deployment").fill("Kimi-K3")
        form.get_by_label("From (empty: now)").fill("2026-11-30T02:30")
        form.locator("select[name=end_ms]").select_option("8 h")
        form.get_by_label("Why", exact=True).fill("new switch")
        form.get_by_role("button").click()
        row = page.locator(".silences tbody tr", has_text="node spark-02")
        expect(row).to_contain_text("planned")
        expect(row).to_contain_text("new switch")
        expect(form.get_by_label("Why", exact=True)).to_have_value("")
    start = 1_796_002_200_000
    about = {"node": "spark-02", "deployment": "Kimi-K3", "comment": "new switch"}
    assert sent == [{"kind": "silence", "start_ms": start, "end_ms": start + 28_800_000, **about}]


@pytest.mark.live
def test_nobody_silences_everything_by_an_empty_form(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/alerts")
    sent = orders(page)
    asked: list[str] = []
    answers = iter((False, True))

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.accept() if next(answers) else dialog.dismiss()

    page.on("dialog", answer)
    with collecting(site.world):
        page.get_by_text("Silence alerts, or plan a maintenance").click()
        form = page.locator("[data-key=silence] form.typed")
        form.get_by_role("button").click()
        assert (sent, len(asked)) == ([], 1)
        form.locator("[name=severity]").select_option("info")
        form.get_by_role("button").click()
        expect(page.locator(".silences tbody")).to_contain_text("severity info")
        assert len(asked) == 1, "it says what it is about"
        form.get_by_role("button").click()
        expect(page.locator(".silences tbody")).to_contain_text("everything")
    assert asked == ["No rule, node, deployment or severity is named. Silence every alert there is?"] * 2


@pytest.mark.live
def test_a_window_of_every_week_is_silenced(site: Site, open_page: Open, complaints: Complaints) -> None:
    """For a year where nothing else is chosen, by the viewer's clock where no other is named."""
    complaints.allowed = ("400 (BAD REQUEST)",)
    page = open_page(f"{site.address}/alerts")
    sent = orders(page)
    page.on("dialog", lambda dialog: dialog.accept())
    with collecting(site.world):
        page.get_by_text("Silence alerts in a window of every week").click()
        form = page.locator("[data-key=weekly] form.typed")
        form.get_by_role("button").click()
        expect(form.locator("[data-said]")).to_contain_text("A weekly window has “days”")
        form.get_by_label("Days").fill("Fri, saturday")
        form.locator("[name=rule]").select_option("gpu_hot")
        form.get_by_role("button").click()
        row = page.locator(".silences tbody tr", has_text="rule gpu_hot")
        expect(row).to_contain_text("fri, sat 22:00–06:00 Europe/Berlin")
        form.get_by_label("Days").fill("sun")
        form.get_by_label("By the clock of").fill("America/New_York")
        form.locator("[name='weekly.to']").fill("07:30")
        form.get_by_role("button").click()
        expect(page.locator(".silences tbody")).to_contain_text("sun 22:00–07:30 America/New_York")
    last = next(one for one in sent if one.get("rule") == "gpu_hot")
    found = next(one for one in site.world.writer.silences() if one.rule == "gpu_hot")
    assert last["weekly"] == {"days": ["fri", "sat"], "from": "22:00", "to": "06:00", "zone": "Europe/Berlin"}
    assert 364.9 * 86_400_000 < last["end_ms"] - found.start_ms <= 365 * 86_400_000


@pytest.mark.look
def test_a_rule_is_changed_switched_off_and_taken_back(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/alerts")
    sent = orders(page)
    page.on("dialog", lambda dialog: dialog.accept())
    with collecting(site.world):
        hot = rule(page, "gpu_hot")
        hot.locator("[name='table.for']").fill("5s")
        hot.get_by_role("button", name="Save").click()
        expect(hot.locator("summary").first).to_contain_text("changed")
        expect(hot).to_contain_text("changed here")
        hot.get_by_role("button", name="Switch off").click()
        expect(hot.locator("summary").first).to_contain_text("off")
        hot.get_by_role("button", name="Take back changes").click()
        expect(hot.locator("summary").first).not_to_contain_text("changed")
        expect(hot.get_by_role("button", name="Switch off")).to_be_visible()
        expect(hot.locator("[name='table.for']")).not_to_have_value("5s")
    assert sent == [
        {"kind": "rule", "name": "gpu_hot", "table": {"for": "5s"}},
        {"kind": "enable", "name": "gpu_hot", "on": False},
        {"kind": "reset", "name": "gpu_hot"},
    ]


def test_a_wrong_condition_is_refused_beside_its_form(site: Site, open_page: Open, complaints: Complaints) -> None:
    complaints.allowed = ("400 (BAD REQUEST)",)
    page = open_page(f"{site.address}/alerts")
    hot = rule(page, "gpu_hot")
    hot.locator("[name='table.when']").fill("gpu_temp > 1")
    hot.get_by_role("button", name="Save").click()
    said = hot.locator("form.rule-form [data-said]")
    expect(said).to_contain_text("Rule gpu_hot: when: there is no metric gpu_temp")
    filled(page, "alert-rules", lambda: None)
    expect(said).to_contain_text("there is no metric gpu_temp")
    expect(hot.locator("[name='table.when']")).to_have_value("gpu_temp > 1")
    assert site.world.writer.rule_changes() == []


def filled(page: Page, name: str, change: Callable[[], Any]) -> None:
    """Until a fragment has been written anew after a change."""
    change()
    page.evaluate(
        """async (address) => {
          const place = document.querySelector(`[data-fragment='${address}']`);
          const { refresh } = await import("/assets/live/fragments.js");
          place.filled = null;
          await new Promise((done) => { place.addEventListener("filled", done, { once: true }); refresh(place); });
        }""",
        f"/fragment/{name}",
    )


def test_what_somebody_types_stays_while_the_page_goes_on(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/alerts")
    page.get_by_text("Silence alerts, or plan a maintenance").click()
    why = page.locator("[data-key=silence]").get_by_label("Why", exact=True)
    why.fill("new switch")
    why.evaluate("(field) => field.setSelectionRange(4, 10)")
    straggler = card(page, "straggler")
    straggler.get_by_role("combobox").select_option("8 h")
    why.focus()
    why.evaluate("(field) => field.setSelectionRange(4, 10)")

    def more() -> None:
        # A cause more above, a panel more above the form, another instant to count from.
        site.world.writer.commit(
            Batch(alerts=[alert(6, "nvme_hot", ("spark-04", "nvme"), 59, severity="critical")]), site.world.now
        )
        site.run(62)

    base = why.evaluate("(field) => field.form.querySelector('[name=end_ms]').dataset.base")
    filled(page, "alerts", more)
    expect(page.locator(".alert-card")).to_have_count(4)
    expect(why).to_be_focused()
    assert why.evaluate("(field) => [field.value, field.selectionStart, field.selectionEnd]") == ["new switch", 4, 10]
    assert card(page, "straggler").get_by_role("combobox").input_value() == "480"
    assert card(page, "nvme_hot 6").get_by_role("combobox").input_value() == "60"
    instants = page.locator("[data-fragment='/fragment/alerts'] time")
    assert all(instants.all_text_contents())
    later = why.evaluate("(field) => field.form.querySelector('[name=end_ms]').dataset.base")
    assert int(later) - int(base) == 2000


def test_an_alerts_own_page_and_back(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/alerts")
    page.evaluate("window.stayed = true")
    page.locator(".alert-card h3 a", has_text="node_silent").click()
    expect(page.locator(".page-head h1")).to_have_text("node_silent")
    expect(page.locator(".alert-history")).to_contain_text("gpu_hot 2")
    page.go_back()
    expect(page.locator(".alert-card")).to_have_count(3)
    assert page.evaluate("window.stayed") is True
    page.locator(".alert-card h3 a", has_text="node_silent").click()
    page.locator("dd a", has_text="node_silent").click()
    expect(page.locator(".rule[open]")).to_have_attribute("data-rule", "node_silent")
    expect(page.locator(".rule[open]")).to_be_in_viewport()


def test_an_alert_that_there_is_not(site: Site, open_page: Open, complaints: Complaints) -> None:
    complaints.allowed = ("404 (NOT FOUND)",)
    page = open_page(f"{site.address}/alerts/99")
    expect(page.locator(".page.lost")).to_contain_text("There is no such alert")


def test_a_phone_has_all_pages_in_one_line(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/alerts", 390, 844)
    expect(page.locator(".alert-card")).to_have_count(3)
    script = "(links) => links.map((one) => one.getBoundingClientRect()).map((r) => [r.top, r.left, r.right])"
    places = page.locator("#react-entry-point .menu .menu-link").evaluate_all(script)
    assert len(places) == 5
    assert len({top for top, _, _ in places}) == 1
    assert all(left >= 0 and right <= 390 for _, left, right in places)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for width in (390, 700, 880):
        page.set_viewport_size({"width": width, "height": 844})
        boxes = [page.locator(f"#react-entry-point {name}").bounding_box() for name in (".menu", ".sentence", ".theme")]
        menu, sentence, theme = (box for box in boxes if box)
        assert sentence["y"] >= menu["y"] + menu["height"], "the sentence has a line of its own"
        assert sentence["width"] > width - 180
        assert sentence["y"] <= theme["y"] + theme["height"] / 2 <= sentence["y"] + sentence["height"]


def test_when_a_rule_would_have_fired_before_it_is_saved(
    make_site: MakeSite, open_page: Open, complaints: Complaints
) -> None:
    complaints.allowed = ("400 (BAD REQUEST)",)
    site = make_site(ticks=0)
    site.world.set("spark-02", gpu.GPU_TEMPERATURE, lambda number: 88.0 if 20 <= number < 40 else 60.0)
    site.run(120)
    page = open_page(f"{site.address}/alerts")
    hot = rule(page, "gpu_hot")
    answer, button = hot.locator("[data-replayed]"), hot.get_by_role("button", name="When would this have fired?")
    button.click()
    never = "It would not have fired in the 2m 0s that were recorded."
    expect(answer.locator("p").first).to_have_text(never)
    hot.locator("[name='table.for']").fill("5s")
    button.click()
    expect(answer).to_contain_text("It would have fired once in the 2m 0s that were recorded.")
    expect(answer.locator(".replay-weeks")).to_have_count(0)
    expect(answer.locator("ul:not(.replay-weeks) li")).to_have_count(1)
    expect(answer.locator("ul:not(.replay-weeks) li")).to_contain_text("spark-02, GPU 0, for")
    filled(page, "alert-rules", lambda: None)
    expect(answer.locator("ul:not(.replay-weeks) li")).to_have_count(1)
    hot.locator("[name='table.for']").fill("soon")
    button.click()
    expect(answer).to_contain_text("'soon' is no duration")
    assert site.world.writer.rule_changes() == []


def test_what_a_replay_says(make_site: MakeSite, open_page: Open) -> None:
    page = open_page(make_site(ticks=0, nodes=0, engines=False).address)
    found = page.evaluate(
        """import("/assets/runs/replay.js").then(({ words, answerOf }) => {
          const of = (count, more = {}) => ({ fired: Array.from({ length: count }, (_, at) =>
            ({ subject: "<b>" + at, fired: 0, ended: at === count - 1 ? null : 5000 })), cut: false,
            per_week: 2.34, recorded: [0, 30 * 86400000], ...more });
          const shown = answerOf(of(25), 0)[1];
          return [words(of(0)), words(of(1)), words(of(3)), words(of(3, { cut: true })),
            words(of(3, { per_week: null, recorded: [0, 312000] })),
            ...[[0, 8 * 86400000], [null, null], [5, 5], [0, 29.4 * 86400000]]
              .map((one) => words(of(0, { recorded: one }))),
            shown.children.length,
            shown.firstChild.textContent.slice(-21), shown.children[1].textContent.slice(-9),
            shown.lastChild.textContent];
        })"""
    )
    assert found == [
        "It would not have fired in the last 30 days.",
        "It would have fired once in the last 30 days.",
        "It would have fired 3 times in the last 30 days, 2.3 per week.",
        "It would have fired more than 3 times in the last 30 days, 2.3 per week.",
        "It would have fired 3 times in the 5m 12s that were recorded.",
        "It would not have fired in the 8d 0h that were recorded.",
        "Nothing was recorded yet that it could have fired on.",
        "Nothing was recorded yet that it could have fired on.",
        "It would not have fired in the 29d 9h that were recorded.",
        21,
        "b>24, and still would",
        ", for 5 s",
        "and 5 before",
    ]
