"""Debian's chromium without a screen, driven by selenium, and a page in it: what the tests of both pages share."""

import json
import os

from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

# A guard against waiting for ever; no rule is about it.
SECONDS = 60


def start_browser():
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in [
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1600,1000",
        "--force-device-scale-factor=1", "--no-first-run", "--disable-extensions", "--disable-background-networking",
    ]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))


class Page:
    """A page at a port of this machine, and the rules of it that held."""

    def __init__(self, browser, port, screenshots):
        self.browser = browser
        self.url = f"http://127.0.0.1:{port}"
        self.screenshots = screenshots
        self.held = {}

    def by_id(self, name):
        return self.browser.find_element(By.ID, name)

    def text(self, name):
        return self.browser.execute_script("return document.getElementById(arguments[0]).textContent", name)

    def number(self, name):
        return float(self.text(name).replace(",", ""))

    def until(self, what, condition):
        WebDriverWait(self.browser, SECONDS, poll_frequency=0.05).until(lambda _: condition(), f"waited for: {what}")
        self.held[what] = True

    def shot(self, name):
        if self.screenshots:
            os.makedirs(self.screenshots, exist_ok=True)
            self.browser.save_screenshot(os.path.join(self.screenshots, f"{name}.png"))

    def size(self, width, height):
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def prefer(self, **features):
        wanted = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wanted})

    # True once nothing is wider than the window, nor than its place in it.
    def fits_in(self, width, height):
        self.size(width, height)
        wide = "return document.documentElement.scrollWidth <= innerWidth"
        self.until(f"{width} pixels suffice", lambda: self.browser.execute_script(wide))
        try:
            self.until(f"nothing is clipped at {width} pixels", lambda: not self.clipped())
        except TimeoutException as error:
            raise AssertionError(f"clipped at {width} pixels: {self.clipped()}") from error

    # The elements that are wider than their place, while the first row of each table has the longest of names. Tables
    # that can be scrolled may be, and so may fields to type in, what only screen readers read, and the wall of devices.
    def clipped(self):
        return self.browser.execute_script("""
            const heads = [...document.querySelectorAll("tbody tr:first-child th")];
            const names = heads.map((head) => head.textContent);
            for (const head of heads) head.textContent = `com.example.${"abcdefghij".repeat(15)}`.slice(0, 155);
            const free = ".hidden, .skip, input, select, option, #field, #field *, svg, svg *";
            const found = [...document.querySelectorAll("body, body *")]
              .filter((element) => !element.matches(free) && element.scrollWidth > element.clientWidth + 1)
              .filter((element) => element.clientWidth > 0)
              .map((element) => `${element.tagName} ${element.id || element.className}: ${element.textContent}`)
              .map((text) => text.slice(0, 80));
            heads.forEach((head, index) => { head.textContent = names[index]; });
            return found;""")

    def has_two_themes(self, name):
        theme = "return document.documentElement.dataset.theme"
        ground = "return getComputedStyle(document.documentElement).backgroundColor"
        self.until("the system's dark theme is taken", lambda: self.browser.execute_script(theme) == "dark")
        dark = self.browser.execute_script(ground)
        self.prefer(prefers_color_scheme="light")
        self.until("and its light one", lambda: self.browser.execute_script(theme) == "light")
        self.until("they differ", lambda: self.browser.execute_script(ground) != dark)
        self.shot(name)
        self.by_id("theme").click()
        self.until("the switch overrules it", lambda: self.browser.execute_script(ground) == dark)


def run(make_test, failure):
    """Runs a test's rules in a new browser and prints those that held.

    `make_test` makes the test of a browser; `failure` names the picture of the moment at which a rule did not hold.
    """
    browser = start_browser()
    test = make_test(browser)
    try:
        test.run()
    except BaseException:
        test.shot(failure)
        raise
    finally:
        browser.quit()
    print(json.dumps(test.held))
