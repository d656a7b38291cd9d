#!/usr/bin/env python3
"""The console's page in a real browser without a screen: Debian's chromium, driven by selenium.

Usage: console_test.py CONSOLE_PORT SICK_TOPIC WORKER_ADDRESS WORKER_PROCESS_ID HOSTILE_PORT [SCREENSHOT_DIRECTORY]

The console looks at three workers, a registrar, a harvester and HOSTILE_PORT, at which this script answers later on.
Notifications are sent all the while; SICK_TOPIC has no certificate. The worker of that address and process is killed
at the end. Waits for conditions, never for time. Prints one JSON object: a true for each rule that held; ends with 1 at
the first that did not, saying which.
"""

import json
import os
import signal
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from browser import SECONDS, Page, run
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

MARKUP = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
# An app with levers in some lanes.
HELD = "com.example.held"
PARTITIONS = 14
RUNBOOK = Path(__file__).resolve().parents[2] / "Deploy/runbook"
ENTRIES = {line[3:] for page in RUNBOOK.glob("*.md") for line in page.read_text().splitlines() if line[:3] == "## "}
# The page's controls, in the order of the tab key.
STOPS = [
    "theme", "partitions-more", "chart-outcomes-plot", "chart-waiting-plot", "chart-oldest-plot", "chart-cores-plot",
    "chart-handed-over-plot", "chart-settled-plot",
]


def figure(text):
    """The number that a page shows as a text; 0 where it shows none."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return 0.0


class HostileRole(BaseHTTPRequestHandler):
    """A process that answers with markup and with numbers beyond all reason."""

    def do_GET(self):
        topic = {"topic": MARKUP, "environment": MARKUP, "stoppedBecause": MARKUP, "lagRecords": 2**63 - 1}
        held = {
            "topic": HELD, "environment": "sandbox", "paused": True, "pausedLanes": ["bulk", MARKUP], "pace": 50,
            "pacedLanes": ["normal", "bulk"], "discardsBefore": "2026-01-31T12:00:00.000Z",
            "discardingLanes": ["urgent", "normal", "bulk"],
        }
        status = {
            "version": 2, "role": MARKUP, "isReady": False, "obstacles": [MARKUP, "x" * 100_000],
            "topics": [topic, held],
            "totals": {MARKUP: -5}, "outcomes": {MARKUP: 2**62}, "keys": [{"team": MARKUP, "key": MARKUP}],
            "gateways": [{"environment": MARKUP, "transport": MARKUP, "connections": {MARKUP: 1}}],
        }
        body = json.dumps(status).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class ConsoleTest(Page):
    def __init__(self, browser, port, sick, worker, hostile_port, screenshots):
        super().__init__(browser, port, screenshots)
        self.sick = sick
        self.address, self.process = worker
        self.hostile_port = hostile_port

    # Tools

    def rows(self, table):
        return self.browser.execute_script(
            "return [...document.querySelectorAll(`#${arguments[0]}-table tbody tr`)]"
            ".map((row) => [...row.cells].map((cell) => cell.textContent))", table
        )

    def row(self, table, name):
        return next((row for row in self.rows(table) if name in row[0]), [""] * 10)

    def number(self, name):
        return figure(self.text(name))

    def fleet(self):
        return json.loads(self.get("/fleet"))

    def matters(self):
        return self.text("matters")

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    # Rules, in the order in which they are tried

    def loads(self):
        self.prefer(prefers_color_scheme="dark")
        self.browser.get(self.url + "/")
        self.until("the page goes live", lambda: self.text("connection") == "live")
        self.until("it counts the roles", lambda: self.text("where") == "3 workers · 1 registrar · 1 harvester")

    def tells_the_sick_topic(self):
        self.until("the sick topic comes first, with the reason", self.is_first)
        words = f"{self.sick} (sandbox) does not work: no valid certificate or key for it is there."
        self.until("it is told in words at the top", lambda: words in self.matters())
        self.until("with the runbook's entry", lambda: "BelfryCertificateMissing" in self.matters())
        self.until("the others work", lambda: self.row("topics", "com.example.news")[1] == "works")
        self.until("its lag is shown", lambda: self.row("topics", self.sick)[3] not in ("0", ""))

    def leads_to_the_runbook(self):
        self.until("each matter has a link to the runbook", lambda: self.entries() and all(
            path == (f"/runbook/{name}" if name in ENTRIES else "/runbook") for name, path in self.entries()))
        for name, path in self.entries():
            self.until(f"{path} tells of {name}", lambda: f"{name}\n" in self.get(path) or name == "runbook")
        self.browser.get(f"{self.url}/runbook/BelfryDown")
        self.until("an entry is seen", lambda: "First look" in self.text("runbook"))
        for width, height in [(420, 900), (1400, 900), (1800, 1000)]:
            self.fits_in(width, height)
        self.shot("console-runbook")
        self.size(1600, 1000)
        self.browser.get(self.url + "/")
        self.until("the page is live again", lambda: self.text("connection") == "live")

    # Name and path of the link of each matter.
    def entries(self):
        return self.browser.execute_script(
            "return [...document.querySelectorAll('#matters li')]"
            ".map((row) => row.querySelector('.entry')).map((link) => [link?.text, link?.pathname])"
        )

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=SECONDS) as answer:
            return answer.read().decode()

    def is_first(self):
        rows = self.rows("topics")
        return bool(rows) and rows[0][0] == self.sick and rows[0][1] == "certificate-missing"

    def numbers_move(self):
        self.until("notifications are sent", lambda: self.number("sent") > 0)
        self.until("and accepted", lambda: self.number("accepted") > 0)
        self.until("outcomes are counted", lambda: self.outcome() > 0)
        before = self.outcome()
        self.until("and counted on", lambda: self.outcome() > before)
        # Some slots, so that the pictures show a course.
        self.until("charts are drawn", lambda: self.points() > 4)
        workers = "return document.querySelector('#chart-cores .readout').textContent"
        self.until("and read", lambda: "3 workers" in self.browser.execute_script(workers))

    # The hour is the console's: a page that is loaded again draws all of it at once.
    def keeps_the_hour(self):
        before = self.points()
        self.browser.refresh()
        self.until("charts are drawn again", lambda: self.points() > 0)
        after = self.points()
        self.until(f"with all their points: {before}, {after}", lambda: after >= before)
        self.until("the page is live again", lambda: self.text("connection") == "live")
        self.until("and filled", lambda: len(self.rows("processes")) > 0)

    def points(self):
        drawn = "return document.querySelector('#chart-outcomes .line-area').getAttribute('d')"
        return (self.browser.execute_script(drawn) or "").count("L")

    def outcome(self):
        return sum(figure(self.row("outcomes", name)[2]) for name in ["confirmed", "presumed"])

    def shows_every_part(self):
        self.until("each worker has partitions", lambda: all(
            figure(row[3]) > 0 for row in self.rows("processes") if row[0].startswith("worker")))
        self.until("every process is ready", lambda: sum(row[1] == "ready" for row in self.rows("processes")) == 5)
        self.until("connections are open", lambda: "open" in self.text("gateway-list"))
        self.until("certificates have days left", lambda: figure(self.row("certificates", "news")[1]) > 0)
        self.until("feedback lists are read", lambda: self.row("harvests", "news")[-1].endswith("ago"))
        self.until("there is advice", lambda: len(self.text("advice")) > 10)

    def is_seen(self):
        self.shot("console-dark")

    def is_reached_by_keyboard(self):
        self.browser.execute_script("document.querySelector('.skip').focus()")
        self.press(Keys.ENTER)
        self.until("a jump leads to the matters", lambda: self.active() == "attention-title")
        self.press(Keys.TAB)
        self.press(Keys.ENTER)
        self.until("a matter leads to its part", lambda: self.browser.execute_script("return location.hash") != "")
        self.browser.execute_script("document.querySelector('.skip').focus()")
        count = self.browser.execute_script(
            "return [...document.querySelectorAll('a[href], button, [tabindex=\"0\"]')]"
            ".filter((element) => element.offsetParent && !element.closest('.skip')).length"
        )
        reached = []
        for _ in range(count + 10):
            self.press(Keys.TAB)
            reached.append(self.active())
            if reached[-1] == "chart-outcomes-plot":
                outline = "return getComputedStyle(document.activeElement).outlineStyle"
                self.until("focus is seen", lambda: self.browser.execute_script(outline) != "none")
            if reached[-1] == STOPS[-1]:
                break
        named = [name for name in reached if name in STOPS]
        self.until(f"the tab key reaches the controls in order: {named}", lambda: named == STOPS)

    def active(self):
        return self.browser.execute_script("return document.activeElement.id")

    def reads_charts_by_keyboard(self):
        self.browser.execute_script("document.getElementById('chart-outcomes-plot').focus()")
        readout = "return document.querySelector('#chart-outcomes .readout').textContent"
        self.press(Keys.ARROW_LEFT)
        self.press(Keys.ARROW_LEFT)
        self.until("arrow keys read the past", lambda: "5 s ago" in self.browser.execute_script(readout))
        self.press(Keys.HOME)
        self.until("to its beginning", lambda: "5 min ago" in self.browser.execute_script(readout))
        self.press(Keys.TAB)
        self.until("and leave it", lambda: "ago" not in self.browser.execute_script(readout))

    def unfolds(self):
        self.until("many partitions are folded", lambda: len(self.rows("partitions")) < PARTITIONS)
        button = self.by_id("partitions-more")
        button.send_keys(Keys.ENTER)
        self.until("until the user wants all", lambda: len(self.rows("partitions")) >= PARTITIONS)
        self.until("which is said", lambda: button.get_attribute("aria-expanded") == "true")
        button.send_keys(Keys.SPACE)
        self.until("and no more", lambda: len(self.rows("partitions")) < PARTITIONS)

    def fits(self):
        for width, height in [
            (360, 780), (420, 900), (768, 1000), (1024, 800), (1400, 900), (1600, 1000), (1800, 1000), (2560, 1300),
        ]:
            self.fits_in(width, height)
            if width == 360:
                self.shot("console-narrow")
        self.size(1600, 1000)

    def takes_no_harm(self):
        place = f"127.0.0.1:{self.hostile_port}"
        self.until("a process that is not there is away", lambda: f"{place} is away" in self.matters())
        server = ThreadingHTTPServer(("127.0.0.1", self.hostile_port), HostileRole)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.until("one that answers oddly is shown", lambda: place in self.row("processes", place)[0])
        self.until("its markup is text", lambda: MARKUP in self.row("topics", MARKUP)[0])
        self.until("and nowhere else", lambda: MARKUP[:30] in self.matters())
        levers = "paused in bulk · ≤ 50 / s in normal, bulk · discards"
        self.until("levers have lanes unless they hold in all", lambda: self.row("topics", HELD)[1] == levers)
        made = "return document.querySelectorAll('body img, body script').length"
        self.until("nothing was made of it", lambda: self.browser.execute_script(made) == 0)
        self.until("the title is the page's", lambda: "Belfry" in self.browser.title)
        self.until("figures stay figures", lambda: self.number("sent") >= 0 and "NaN" not in self.page_text())
        self.until("notifications are still counted", lambda: self.number("accepted") > 0)
        server.shutdown()
        server.server_close()
        self.until("when it goes, it is away", lambda: f"{place} is away" in self.matters())

    def page_text(self):
        return self.browser.find_element(By.TAG_NAME, "main").text

    def shows_a_dead_worker(self):
        os.kill(self.process, signal.SIGKILL)
        self.until("a killed worker is away", lambda: "away" in self.row("processes", self.address)[1])
        self.until("the matter names it", lambda: f"worker {self.address} is away" in self.matters())
        self.until("the age of its answer grows", lambda: "s ago" in self.row("processes", self.address)[7])
        self.until("two workers go on", lambda: self.text("where").startswith("2 workers"))
        self.until("and take its partitions", lambda: sum(
            figure(row[3]) for row in self.rows("processes") if row[0].startswith("worker")
        ) == PARTITIONS)
        self.until("until every partition has a reader", lambda: all(
            partition["holders"] for partition in self.fleet()["partitions"]))
        self.shot("console-away")

    def has_no_errors(self):
        errors = [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]
        self.until(f"the browser has no errors: {errors}", lambda: not errors)

    def run(self):
        self.size(1600, 1000)
        for rule in [
            self.loads, self.tells_the_sick_topic, self.leads_to_the_runbook, self.numbers_move, self.keeps_the_hour,
            self.shows_every_part, self.is_seen,
            self.is_reached_by_keyboard, self.reads_charts_by_keyboard, self.unfolds, self.fits,
            lambda: self.has_two_themes("console-light"), self.takes_no_harm, self.shows_a_dead_worker,
            self.has_no_errors,
        ]:
            rule()


def main():
    port, sick, address = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    worker = (address, int(sys.argv[4]))
    screenshots = sys.argv[6] if len(sys.argv) > 6 else None
    run(
        lambda browser: ConsoleTest(browser, port, sick, worker, int(sys.argv[5]), screenshots), "console-failure"
    )


if __name__ == "__main__":
    main()
