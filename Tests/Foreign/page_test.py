#!/usr/bin/env python3
"""The sandbox's page in a real browser without a screen: Debian's chromium, driven by selenium.

Usage: page_test.py CONTROL_PORT TOPIC [SCREENSHOT_DIRECTORY]

Another process has to send notifications of TOPIC all the while, again and again on new connections, over both
interfaces, and one request with a wrong token before. Waits for conditions, never for time. Prints one JSON object: a
true for each rule that held; ends with 1 at the first that did not, saying which.
"""

import json
import re
import sys
import urllib.request

from browser import SECONDS, Page, run
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.support.ui import Select, WebDriverWait

# The page's controls, in the order of the tab key; the switches of the faults follow.
FIRST_STOPS = ["theme", "topic", "zoom-out", "zoom-in", "zoom-fit", "field"]


class PageTest(Page):
    def __init__(self, browser, port, topic, screenshots):
        super().__init__(browser, port, screenshots)
        self.topic = topic

    # Tools

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=SECONDS) as answer:
            return json.load(answer)

    def strikes(self, fault):
        return self.get("/stats")["faults"].get(fault, 0)

    def zoom(self):
        return float(self.by_id("field").get_attribute("data-zoom"))

    def position(self):
        field = self.by_id("field")
        return field.get_attribute("data-x"), field.get_attribute("data-y")

    # True if any pixel of the field has the colour of this kind, or nearly.
    def is_flashing(self, kind="delivered"):
        return self.browser.execute_script("""
            const canvas = document.getElementById("canvas");
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            const hex = getComputedStyle(document.documentElement).getPropertyValue(`--${arguments[0]}`).trim();
            const wanted = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
            for (let at = 0; at < data.length; at += 4) {
              if (wanted.every((part, index) => Math.abs(part - data[at + index]) < 40)) return true;
            }
            return false;""", kind)

    # The contrast of two colours of the style sheet, by the rule of WCAG 2.
    def contrast(self, *names):
        style = "return getComputedStyle(document.documentElement).getPropertyValue(`--${arguments[0]}`).trim()"

        def luminance(name):
            text = self.browser.execute_script(style, name)
            parts = [int(text[at:at + 2], 16) / 255 for at in (1, 3, 5)]
            parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
            return sum(part * weight for part, weight in zip(parts, (0.2126, 0.7152, 0.0722))) + 0.05

        darker, lighter = sorted(luminance(name) for name in names)
        return lighter / darker

    # Rules, in the order in which they are tried

    def loads(self):
        self.prefer(prefers_color_scheme="dark")
        self.browser.get(self.url + "/")
        self.until("the page goes live", lambda: self.text("connection") == "live")
        self.until("it names the topic", lambda: self.topic in self.text("topics"))

    def is_seen_in_the_dark(self):
        for state in ["online", "offline", "uninstalled"]:
            self.until(f"{state} devices are seen in the dark", lambda: self.contrast(state, "field") >= 3)
            for kind in ["delivered", "stored", "feedback", "refused"]:
                self.until(f"{kind} is seen on {state}", lambda: self.contrast(kind, state) >= 2)
        self.until("removed devices are a shade", lambda: self.contrast("removed", "field") >= 1.5)

    def numbers_move(self):
        before = self.number("total")
        self.until("totals move", lambda: self.number("total") > before)
        self.until("there is a rate", lambda: self.number("rate") > 0)
        self.until("the empty state is gone", lambda: not self.by_id("empty").is_displayed())
        self.until("deliveries flash", self.is_flashing)
        self.shot("page-dark")

    def zooms_with_keys(self):
        field = self.by_id("field")
        field.send_keys("0")
        self.until("0 shows everything", lambda: self.zoom() == 1)
        field.send_keys("+" * 12)
        self.until("plus zooms in", lambda: self.zoom() > 3)
        self.until("the device under the cursor is named", lambda: "online" in self.text("device"))
        before = self.position()
        field.send_keys(Keys.ARROW_RIGHT + Keys.ARROW_DOWN)
        self.until("arrows move", lambda: all(now != then for now, then in zip(self.position(), before)))
        self.shot("page-zoomed")
        zoom = self.zoom()
        field.send_keys("-")
        self.until("minus zooms out", lambda: self.zoom() < zoom)
        field.send_keys("0")
        self.until("0 shows everything again", lambda: self.zoom() == 1)

    def zooms_with_the_wheel(self):
        origin = ScrollOrigin.from_element(self.by_id("field"))
        ActionChains(self.browser).scroll_from_origin(origin, 0, -600).perform()
        self.until("the wheel zooms in", lambda: self.zoom() > 1.5)
        ActionChains(self.browser).click_and_hold(self.by_id("field")).move_by_offset(60, 40).release().perform()
        ActionChains(self.browser).scroll_from_origin(origin, 0, 2000).perform()
        self.until("the wheel zooms out", lambda: self.zoom() == 1)

    def chooses_a_topic(self):
        Select(self.by_id("topic")).select_by_visible_text(self.topic)
        labels = "return document.querySelectorAll('#labels span').length"
        self.until("one topic is shown alone", lambda: self.browser.execute_script(labels) == 1)
        Select(self.by_id("topic")).select_by_value("")
        self.until("all topics are shown", lambda: self.browser.execute_script(labels) > 1)

    def shows_last_notifications(self):
        field, card = self.by_id("field"), self.by_id("notification")
        topic = Select(self.by_id("topic"))
        topic.select_by_value(self.topic)
        self.until("no notification is open", lambda: not card.is_displayed())
        ActionChains(self.browser).click(field).perform()
        self.until("a click on a device opens it", lambda: card.is_displayed())
        self.until("with its text", lambda: self.text("notification-body") == "hello")
        self.until("its device", lambda: self.text("notification-device").startswith(f"{self.topic} · device "))
        self.until("its time and its priority", lambda: re.fullmatch(
            r"accepted20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d.000Zpriority10push type.*", self.text("notification-facts")))
        field.send_keys(Keys.ESCAPE)
        self.until("escape closes it", lambda: not card.is_displayed())
        field.send_keys(Keys.ENTER)
        self.until("enter opens that of the device in the middle", lambda: card.is_displayed())
        self.until("as the mouse did", lambda: self.text("notification-body") == "hello")
        field.send_keys(Keys.ESCAPE)
        ActionChains(self.browser).click_and_hold(field).move_by_offset(30, 20).release().perform()
        self.until("dragging opens none", lambda: not card.is_displayed())
        # The devices in the middle of the second topic got markup, controls and 3 KB.
        values = [option.get_attribute("value") for option in topic.options]
        topic.select_by_value(next(value for value in values if value not in ("", self.topic)))
        ActionChains(self.browser).click(field).perform()
        title = "<img src=x onerror='document.title=0'>"
        self.until("markup in it is text", lambda: self.text("notification-title") == title)
        self.until("controls are shown", lambda: self.text("notification-body") == "\ufffd\ufffd" + "<b>" * 1000)
        facts = self.text("notification-facts")
        self.until(f"all that is known is told: {facts}", lambda: all(
            fact in facts for fact in ["badge7", "push typealert", "collapse id<i>"]))
        made = "return document.querySelectorAll('body img, #notification b, #notification i').length"
        self.until("nothing was made of it", lambda: self.browser.execute_script(made) == 0)
        self.shot("page-notification")
        for width, height in [(420, 900), (1400, 900), (1800, 1000)]:
            self.fits_in(width, height)
        self.size(1600, 1000)
        self.by_id("notification-close").click()
        self.until("its button closes it", lambda: not card.is_displayed())
        topic.select_by_value("")

    def switches_a_fault(self):
        setting = self.by_id("fault-close-after-count")
        setting.clear()
        setting.send_keys("1")
        switch = self.by_id("fault-close-after")
        switch.click()
        self.until("a fault is on", lambda: self.text("faults-on") == "1 on")
        self.until("it strikes", lambda: self.strikes("close-after") > 0)
        self.until("its strikes are shown", lambda: "struck" in self.text("fault-close-after-strikes"))
        self.shot("page-fault")
        switch.click()
        self.until("it is off", lambda: not self.by_id("faults-on").is_displayed())
        self.until("the sandbox says so", lambda: self.get("/faults")["faults"] == [])
        self.until("it strikes no more", self.is_quiet)

    # Notifications go on being accepted while the fault's count stands still.
    def is_quiet(self):
        strikes, accepted = self.strikes("close-after"), self.accepted()
        WebDriverWait(self.browser, SECONDS, poll_frequency=0.05).until(lambda _: self.accepted() > accepted + 20)
        return self.strikes("close-after") == strikes

    def accepted(self):
        return self.get("/stats")["topics"][self.topic]["accepted"]

    def counts_strikes_as_the_list_does(self):
        switch = self.by_id("fault-close-after")
        before = self.strikes("close-after")
        switch.click()
        self.until("switched on again, it strikes", lambda: self.strikes("close-after") > before)
        shown = "fault-close-after-strikes"
        self.until("strikes are shown", lambda: "struck" in self.text(shown))
        self.fill("fault-close-after-count", "1000000" + Keys.TAB)
        self.until("a changed setting is taken", lambda: self.listed("close-after").get("count") == 1000000)
        # It was switched on anew, and has met no connection yet: before, it had struck.
        self.until("strikes are those since it was switched on", lambda: self.text(shown) == "")
        self.until("as in the list", lambda: self.listed("close-after")["strikes"] == 0)
        switch.click()
        self.until("it is off again", lambda: not self.by_id("faults-on").is_displayed())

    def listed(self, fault):
        return next((entry for entry in self.get("/faults")["faults"] if entry["name"] == fault), {})

    def refusals_flash(self):
        self.until("without refusals none flashes", lambda: not self.is_flashing("refused"))
        self.fill("fault-error-response-every", "1")
        switch = self.by_id("fault-error-response")
        switch.click()
        self.until("refusals flash", lambda: self.is_flashing("refused"))
        switch.click()
        self.until("refusals end", lambda: not self.by_id("faults-on").is_displayed())

    # Requests of the provider API come, too: good ones, and one with a wrong token before the page was loaded.
    def shows_answers_by_reason(self):
        self.until("a refused request is told by its reason", lambda: self.refused("400 BadDeviceToken") == 1)
        offered = Select(self.by_id("fault-request-error-reason")).options
        self.until("every reason is offered", lambda: len(offered) > 40)
        Select(self.by_id("fault-request-error-reason")).select_by_visible_text("UnrelatedKeyIdInToken")
        self.fill("fault-request-error-every", "1")
        switch = self.by_id("fault-request-error")
        switch.click()
        self.until("a chosen reason is answered, and told", lambda: self.refused("403 UnrelatedKeyIdInToken") > 0)
        self.until("in the order of their statuses", self.is_ordered)
        self.shot("page-reasons")
        switch.click()
        self.until("reasons end", lambda: not self.by_id("faults-on").is_displayed())

    # Of connections and streams, both of the provider API.
    def shows_ends_by_reason(self):
        self.until("without an end there is no table of them", lambda: not self.by_id("ends").is_displayed())
        self.fill("fault-goaway-after-count", "1")
        self.by_id("fault-goaway-after").click()
        self.until("a GOAWAY is told by its reason", lambda: self.ended("GOAWAY Shutdown") > 0)
        self.by_id("fault-goaway-after").click()
        self.fill("fault-stream-reset-every", "1")
        self.by_id("fault-stream-reset").click()
        self.until("a reset is told by its code", lambda: self.ended("reset REFUSED_STREAM") > 0)
        self.until("and each is counted", lambda: self.ended("GOAWAY Shutdown") == self.goaways("Shutdown"))
        self.by_id("fault-stream-reset").click()
        self.until("ends end", lambda: not self.by_id("faults-on").is_displayed())

    def ended(self, name):
        return self.total("ends", name)

    def goaways(self, reason):
        return self.get("/stats")["api"]["goAways"][reason]

    def rows(self, table):
        return self.browser.execute_script(
            "return [...document.querySelectorAll(`#${arguments[0]} tbody tr`)]"
            ".map((row) => [row.cells[0].textContent, row.cells[2].textContent])", table
        )

    # The total of a row of a table; 0: there is none.
    def total(self, table, name):
        return next((int(total.replace(",", "")) for row, total in self.rows(table) if row == name), 0)

    def refused(self, reason):
        return self.total("statuses", reason)

    # The binary interface's statuses stand before those of the provider API.
    def is_ordered(self):
        statuses = [int(name.split()[0]) for name, _ in self.rows("statuses")]
        return statuses == sorted(statuses) and statuses[0] < 400 <= statuses[-1]

    # As a person does: what is there is selected and typed over.
    def fill(self, name, text):
        self.by_id(name).send_keys(Keys.CONTROL, "a", Keys.NULL, text or Keys.DELETE)

    # A setting that cannot be sent is told at its field, by its label, and nothing is switched on.
    def says_what_is_wrong(self):
        milliseconds = "a whole number from 0 to 3,600,000 is allowed"
        number = "a whole number from 1 to 1,000,000,000 is allowed"
        for fault, key, text, message in [
            ("answer-delay", "milliseconds", "-1", f"“ms” is -1; {milliseconds}"),
            ("answer-delay", "milliseconds", "1.5", f"“ms” is 1.5; {milliseconds}"),
            ("error-response", "every", "", f"“number” is empty; {number}"),
            ("error-response", "every", "-", f"“number” is no number; {number}"),
            ("error-response", "probability", "2", "“or chance” is 2; a number from 0 to 1 is allowed"),
            # Only the sandbox knows that.
            ("error-response", "status", "10", "“status” is 10, which is what shutdown-after is for"),
        ]:
            name = f"fault-{fault}-{key}"
            before = self.by_id(name).get_property("value")
            self.fill(name, text)
            self.by_id(f"fault-{fault}").click()
            self.until(f"told: {message}", lambda: self.text(f"fault-{fault}-wrong") == message)
            self.until(f"at its field: {message}", lambda: self.by_id(name).get_attribute("aria-invalid") == "true")
            self.until(f"the switch is off: {message}", lambda: not self.by_id(f"fault-{fault}").is_selected())
            self.until(f"nothing is on: {message}", lambda: self.get("/faults")["faults"] == [])
            self.fill(name, before)
            self.until(f"until it is changed: {message}", lambda: self.text(f"fault-{fault}-wrong") == "")

    def is_reached_by_keyboard(self):
        # The first stop of all leads past the wall.
        self.browser.execute_script("document.querySelector('.skip').focus()")
        count = self.browser.execute_script(
            "return [...document.querySelectorAll('button, select, input, [tabindex=\"0\"]')]"
            ".filter((element) => !element.disabled && element.offsetParent).length"
        )
        reached = []
        for _ in range(count):
            ActionChains(self.browser).send_keys(Keys.TAB).perform()
            reached.append(self.browser.execute_script("return document.activeElement.id"))
            if reached[-1] == "field":
                outline = "return getComputedStyle(document.activeElement).outlineStyle"
                self.until("focus is seen", lambda: self.browser.execute_script(outline) != "none")
        named = [name for name in reached if name]
        self.until("the tab key reaches the controls in order", lambda: named[: len(FIRST_STOPS)] == FIRST_STOPS)
        self.until("and every one of them", lambda: len(set(named)) == count)
        unnamed = (
            "return [...document.querySelectorAll('button, select, input')].filter((element) =>"
            " !element.ariaLabel && !element.labels?.length && !element.textContent.trim()).length"
        )
        self.until("every control has a name", lambda: self.browser.execute_script(unnamed) == 0)
        self.browser.execute_script("document.getElementById('fault-refuse-connects').focus()")
        ActionChains(self.browser).send_keys(Keys.SPACE).perform()
        self.until("the space key switches a fault on", lambda: self.text("faults-on") == "1 on")
        self.by_id("clear").send_keys(Keys.ENTER)
        self.until("and enter all of them off", lambda: not self.by_id("faults-on").is_displayed())

    def fits(self):
        for width, height in [
            (360, 780), (420, 900), (768, 1000), (1024, 800), (1400, 900), (1600, 1000), (1800, 1000), (2560, 1300),
        ]:
            self.fits_in(width, height)
            self.until(f"the field is seen at {width}", lambda: self.by_id("field").size["height"] >= 250)
            if width == 360:
                self.shot("page-narrow")
        self.size(1600, 1000)

    def is_calm_when_asked(self):
        self.prefer(prefers_reduced_motion="reduce")
        query = "return matchMedia('(prefers-reduced-motion: reduce)').matches"
        self.until("reduced motion is heard", lambda: self.browser.execute_script(query))
        self.until("deliveries are still seen", self.is_flashing)

    def has_no_errors(self):
        errors = [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]
        # The sandbox refused one request on purpose, which the browser counts as an error.
        errors = [error for error in errors if "/faults - " not in error or "status of 400" not in error]
        self.until(f"the console has no errors: {errors}", lambda: not errors)

    def run(self):
        self.size(1600, 1000)
        for rule in [
            self.loads, self.is_seen_in_the_dark, self.numbers_move, self.zooms_with_keys, self.zooms_with_the_wheel,
            self.chooses_a_topic, self.shows_last_notifications,
            self.switches_a_fault, self.counts_strikes_as_the_list_does, self.refusals_flash,
            self.shows_answers_by_reason, self.shows_ends_by_reason, self.says_what_is_wrong,
            lambda: self.has_two_themes("page-light"),
            self.is_reached_by_keyboard, self.fits, self.is_calm_when_asked, self.has_no_errors,
        ]:
            rule()


def main():
    port, topic = int(sys.argv[1]), sys.argv[2]
    screenshots = sys.argv[3] if len(sys.argv) > 3 else None
    run(lambda browser: PageTest(browser, port, topic, screenshots), "page-failure")


if __name__ == "__main__":
    main()
