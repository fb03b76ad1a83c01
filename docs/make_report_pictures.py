"""Make the pictures of docs/report.md: a report on two baselines, photographed in a headless Chromium.

    python docs/make_report_pictures.py

Needs the extra `dev` and a Chromium; takes about a minute.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from atomworld_env.evaluation.run import evaluate
from atomworld_env.policies.baselines import load_policy
from atomworld_env.prompts.prompt import load_template
from atomworld_env.report.write_report import write_report
from atomworld_env.tasks.suite import load_suite

PICTURES = Path(__file__).resolve().parent / "pictures"
POLICIES = ("cartesian_by_lengths", "listed_copy")
PER_ACTION = 25
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]


def photograph(page_file: Path, chromium: str) -> None:
    """The success by edit, and one wrong answer in 3-D."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(page_file.as_uri())
        page.wait_for_selector("#browser:not([hidden])")
        page.locator("#figures").evaluate("(section) => section.scrollIntoView({behavior: 'instant'})")
        page.wait_for_timeout(500)
        page.screenshot(path=PICTURES / "report_figures.png")
        page.select_option("#f-run", label="cartesian_by_lengths")
        page.select_option("#f-action", "rotate_around")
        page.select_option("#f-right", "wrong")
        page.fill("#f-high", "24")
        page.locator("#list button").first.click()
        page.locator("#answers").evaluate("(section) => section.scrollIntoView({behavior: 'instant'})")
        page.mouse.move(2, 2)
        page.wait_for_timeout(3000)
        page.screenshot(path=PICTURES / "report_answer.png")
        browser.close()


def main() -> None:
    """Evaluate, report, photograph."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("no Chromium is installed (apt-get install chromium)")
    tasks = load_suite("atommotor").restricted(None, PER_ACTION)
    with TemporaryDirectory() as folder:
        runs = [Path(folder) / policy for policy in POLICIES]
        for policy, run in zip(POLICIES, runs, strict=True):
            evaluate(load_policy(policy), tasks, run, profile="both", template=load_template("default"))
        photograph(write_report(runs, Path(folder) / "report").page, chromium)
    print(f"report_figures.png and report_answer.png in {PICTURES}")


if __name__ == "__main__":
    main()
